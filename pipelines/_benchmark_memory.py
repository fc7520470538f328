"""Memory of an ingest's driver and workers over thousands of pages, tenth by tenth of the run: whether it stays flat."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from layoutray.bench.memory import Held, MemorySampler, by_tenths
from layoutray.cli import terminal
from layoutray.cluster.connect import connect
from layoutray.cluster.ingest import ingest
from layoutray.cluster.progress import Progress
from layoutray.errors import InputError
from layoutray.ocr.settings import Preprocessing, Recognition
from layoutray.recipe import IngestRecipe
from layoutray.report import png
from layoutray.report.memory import memory
from pipelines._real_pages import add_options, collect

_MARKS = {"page workers": "PageWorker", "OCR": "layoutray.ocr.child", "Ray itself": ""}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark memory", description=__doc__)
    add_options(parser)
    parser.add_argument(
        "--rounds", type=int, default=10, help="how often each picture is read, every time as another file"
    )
    parser.add_argument(
        "--width", type=int, default=400, help="pixels that pages are brought to; few are read in less time"
    )
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two samples")
    parser.add_argument("--out", type=Path, metavar="FILE.png", help="also write the picture to this file")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        raise InputError(f"--rounds is {options.rounds}; it must be at least 1")
    with tempfile.TemporaryDirectory() as scratch:
        return _run(options, Path(scratch))


def _run(options: argparse.Namespace, scratch: Path) -> int:
    recipe = IngestRecipe(
        "folder", dev_share=0, recognition=Recognition(preprocessing=Preprocessing(width=options.width))
    )
    collect(options, scratch / "chosen")
    _repeat(scratch / "chosen", options.rounds, scratch / "pages")
    sampler = MemorySampler(_MARKS, options.interval)

    def watch(progress: Progress) -> None:
        # At the end the workers may be gone already.
        if progress.stage == "recognise" and 0 < progress.done < progress.total:
            sampler.sample(progress.done)

    with connect():
        started = time.perf_counter()
        manifest = ingest(str(scratch / "pages"), str(scratch / "out"), recipe, progress=watch)
        seconds = time.perf_counter() - started
    found = by_tenths(sampler.samples)
    _show(
        found,
        f"{manifest.pages_in} pages ({manifest.pages_dead} failed), read by Tesseract at width {options.width} in {seconds:.0f} s",
    )
    counts = {
        "pages": manifest.pages_in,
        "dead": manifest.pages_dead,
        "seconds": seconds,
        "samples": len(sampler.samples),
    }
    sys.stdout.write(json.dumps(counts | {"held": [asdict(one) for one in found]}) + "\n")
    if options.out:
        points = {one.role: [(sample.done, sample.mib[one.role]) for sample in sampler.samples] for one in found}
        options.out.write_bytes(png.png(memory(points)))
    return 0


def _repeat(pictures: Path, rounds: int, folder: Path) -> None:
    """Write each picture into the new `folder` so many times, with a number behind its end: the same file would be read once."""
    folder.mkdir()
    for number in range(rounds):
        for file in sorted(pictures.iterdir()):
            (folder / f"{number:04d}-{file.name}").write_bytes(file.read_bytes() + f"\n{number}".encode())


def _show(found: Sequence[Held], title: str) -> None:
    rows = [
        (str(number), *(f"{mib:.0f}" for mib in held))
        for number, held in enumerate(zip(*(one.tenths for one in found), strict=True), 1)
    ]
    rows.append(("growth from the third to the last", *(f"{one.growth:+.1%}" for one in found)))
    rows.append(("range from the third on", *(f"{one.range:.1%}" for one in found)))
    terminal.show_table(title, ("tenth of the run, mean MiB", *(one.role for one in found)), rows)


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
