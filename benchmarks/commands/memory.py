"""Memory of the driver and workers of an ingest over thousands of pages, for each tenth of the run."""

import argparse
import io
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from PIL import Image

from benchmarks import real_pages
from benchmarks.figures.memory import draw_memory
from benchmarks.measure.memory import MemorySampler, RoleMemory, by_tenths
from benchmarks.options import png_file
from benchmarks.real_pages import RealPagesOptions
from layoutray import config
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import parse
from layoutray.cluster.connect import connect
from layoutray.cluster.ingest import ingest
from layoutray.cluster.progress import Progress
from layoutray.errors import InputError
from layoutray.ocr.settings import PROFILES, Profile, Recognition
from layoutray.recipe.ingest import IngestRecipe
from layoutray.report import png

_MARKS = {"page workers": "PageWorker", "OCR": "layoutray.ocr.child", "Ray itself": ""}


@dataclass(frozen=True, kw_only=True)
class MemoryOptions(RealPagesOptions):
    """Options of `memory`.

    Attributes:
        rounds: number of copies of each document.
        width: in pixels that wider pictures are scaled to; 0 keeps their size.
        profile: how pages are read.
        interval: seconds between two samples.
        out: file that also gets the figure.
    """

    rounds: int
    width: int
    profile: Profile
    interval: float
    out: Path | None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks memory", description=__doc__)
    real_pages.add_options(parser)
    parser.add_argument(
        "--rounds", type=int, default=10, help="number of copies of each document; each copy is a different file"
    )
    parser.add_argument(
        "--width",
        type=int,
        default=400,
        help="width in pixels that wider pictures are scaled to, because OCR of small pages is faster; 0 keeps their "
        "size (default: %(default)s)",
    )
    parser.add_argument(
        "--profile", choices=tuple(PROFILES), default="accurate", help="how pages are read (default: %(default)s)"
    )
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two samples")
    parser.add_argument("--out", type=png_file, metavar="FILE.png", help="also write the figure to this file")
    options = parse(parser, arguments, MemoryOptions)
    if options.rounds < 1:
        raise InputError(f"--rounds is {options.rounds}; it must be at least 1")
    with tempfile.TemporaryDirectory() as scratch:
        return _run(options, Path(scratch))


def _run(options: MemoryOptions, scratch: Path) -> int:
    recipe = IngestRecipe(reader="folder", dev_share=0, recognition=_recognition(options))
    real_pages.collect(options, scratch / "sample")
    _repeat(scratch / "sample", options, scratch / "pages")
    sampler = MemorySampler(_MARKS, options.interval)

    def watch(progress: Progress) -> None:
        # At the end of the stage the workers may have stopped.
        if progress.stage == "recognise" and 0 < progress.done < progress.total:
            sampler.sample(progress.done)

    with connect():
        started = time.perf_counter()
        manifest = ingest(str(scratch / "pages"), str(scratch / "out"), recipe, progress=watch)
        seconds = time.perf_counter() - started
    roles = by_tenths(sampler.samples)
    how = f"profile {options.profile}, width {options.width or 'unchanged'}"
    _show(roles, f"{manifest.pages_in} pages ({manifest.pages_dead} failed), {how}, {seconds:.0f} s")
    counts = {
        "pages": manifest.pages_in,
        "dead": manifest.pages_dead,
        "seconds": seconds,
        "samples": len(sampler.samples),
    }
    sys.stdout.write(json.dumps(counts | {"held": [asdict(one) for one in roles]}) + "\n")
    if options.out:
        points = {one.role: [(sample.done, sample.mib[one.role]) for sample in sampler.samples] for one in roles}
        options.out.write_bytes(png.png(draw_memory(points)))
    return 0


def _recognition(options: MemoryOptions) -> Recognition:
    """The profile's engine, which does not enlarge pages and reads them in one direction only.

    Small pages are not read well, so by default most of them would be read in four directions.
    """
    section = {"profile": options.profile, "orientation": "upright", "rapidocr": {"short_side": 32}}
    return config.build(Recognition, section, "recognition")


def _repeat(documents: Path, options: MemoryOptions, folder: Path) -> None:
    """Write the scaled documents into the new `folder`, each as often as there are rounds.

    Each copy ends in its number, because ingest reads identical files only once.
    """
    folder.mkdir()
    for file in sorted(documents.iterdir()):
        content = _scaled(file, options.width)
        for number in range(options.rounds):
            (folder / f"{number:04d}-{file.name}").write_bytes(content + f"\n{number}".encode())


def _scaled(file: Path, width: int) -> bytes:
    """The file; a picture that is wider than `width` pixels is scaled to that width, as a JPEG file."""
    if width == 0 or file.suffix == ".pdf":
        return file.read_bytes()
    with Image.open(file) as picture:
        if picture.width <= width:
            return file.read_bytes()
        scaled, content = picture.convert("L").resize((width, picture.height * width // picture.width)), io.BytesIO()
    scaled.save(content, "JPEG", quality=90)
    return content.getvalue()


def _show(roles: Sequence[RoleMemory], title: str) -> None:
    rows = [
        (str(number), *(f"{mib:.0f}" for mib in sizes))
        for number, sizes in enumerate(zip(*(one.tenths for one in roles), strict=True), 1)
    ]
    rows.append(("growth from the third to the last tenth", *(f"{one.growth:+.1%}" for one in roles)))
    rows.append(("range from the third tenth on", *(f"{one.range:.1%}" for one in roles)))
    terminal.show_table(title, ("tenth of the run, mean MiB", *(one.role for one in roles)), rows)
