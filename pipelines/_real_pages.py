"""Pictures of real pages that benchmarks read: from folders, else from the data sets at hand, else drawn ones."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from layoutray.readers.synthetic_render import render_set
from pipelines import _terminal as terminal

_PICTURES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff"})
_USUAL = ("sroie", "funsd", "wildreceipt")
"""Sets of real scans below LAYOUTRAY_DATA that are read when no folder is named."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders", nargs="*", type=Path, help="folders of pictures (default: the real ones below LAYOUTRAY_DATA, else drawn ones)"
    )
    parser.add_argument("--pages", type=int, default=500, help="at most so many pictures, spread evenly")


def collect(options: argparse.Namespace, folder: Path) -> None:
    """Link the pictures that `options` choose into the new `folder`; where they are drawn, into one beside it."""
    folder.mkdir()
    for number, file in enumerate(_pictures(options.folders, options.pages, folder.with_name("drawn"))):
        (folder / f"{number:05d}{file.suffix.lower()}").symlink_to(file.resolve())


def _pictures(folders: Sequence[Path], count: int, drawn: Path) -> list[Path]:
    chosen = list(folders) or _usual()
    if not chosen:
        terminal.say(f"no real pages at hand (set LAYOUTRAY_DATA, or name a folder): drawing {count}")
        render_set(drawn, count, seed=7)
        chosen = [drawn]
    found = sorted(file for folder in chosen for file in folder.rglob("*") if file.suffix.lower() in _PICTURES)
    step = max(len(found) / count, 1.0)
    return [found[int(index * step)] for index in range(min(count, len(found)))]


def _usual() -> list[Path]:
    root = Path(os.environ.get("LAYOUTRAY_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    return [root / name for name in _USUAL if (root / name).is_dir()]
