"""Real pages that benchmarks read: pictures and PDFs from folders, else from the data sets at hand, else drawn ones."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from layoutray.cli import terminal
from layoutray.errors import DocumentError
from layoutray.ocr.render import count_pages
from layoutray.ocr.settings import Recognition
from layoutray.readers.synthetic_render import render_set

_SUFFIXES = frozenset({".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff"})
_USUAL = ("sroie", "funsd", "wildreceipt")
"""Sets of real scans below LAYOUTRAY_DATA that are read when no folder is named."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        help="folders of pictures and PDFs (default: the real ones below LAYOUTRAY_DATA, else drawn ones)",
    )
    parser.add_argument("--pages", type=int, default=500, help="at most so many pages, of documents spread evenly")


def collect(options: argparse.Namespace, folder: Path) -> None:
    """Link the files that `options` choose into the new `folder`; where they are drawn, into one beside it."""
    folder.mkdir()
    for number, file in enumerate(_files(options.folders, options.pages, folder.with_name("drawn"))):
        (folder / f"{number:05d}{file.suffix.lower()}").symlink_to(file.resolve())


def _files(folders: Sequence[Path], count: int, drawn: Path) -> list[Path]:
    chosen = list(folders) or _usual()
    if not chosen:
        terminal.say(f"no real pages at hand (set LAYOUTRAY_DATA, or name a folder): drawing {count}")
        render_set(drawn, count, seed=7)
        chosen = [drawn]
    found = sorted(file for folder in chosen for file in folder.rglob("*") if file.suffix.lower() in _SUFFIXES)
    return _spread(found, [_pages(file) for file in found], count)


def _pages(file: Path) -> int:
    """One for a file that cannot be opened: what is measured has to cope with it, and says so."""
    try:
        return count_pages(file.read_bytes(), Recognition())
    except DocumentError:
        return 1


def _spread(files: Sequence[Path], pages: Sequence[int], count: int) -> list[Path]:
    """Files of at most `count` pages together: one is taken when the share of all pages that are due by then has room for its own."""
    every, passed, total = sum(pages), 0, 0
    taken: list[Path] = []
    for file, here in zip(files, pages, strict=True):
        passed += here
        if (total + here) * every <= min(count, every) * passed:
            taken.append(file)
            total += here
    return taken


def _usual() -> list[Path]:
    root = Path(os.environ.get("LAYOUTRAY_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    return [root / name for name in _USUAL if (root / name).is_dir()]
