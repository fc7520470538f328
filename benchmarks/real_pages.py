"""Pages that a benchmark reads: of named folders, else of the real data sets on this machine, else synthetic ones."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import sample_pages

_DATA_SETS = ("sroie", "funsd", "wildreceipt")
"""Data sets of real scans below LAYOUTRAY_DATA, which are read when no folder is named."""


@dataclass(frozen=True, kw_only=True)
class RealPagesOptions:
    """Options of every benchmark that reads real pages.

    Attributes:
        folders: of pictures and PDF files; empty for those on this machine.
        pages: maximum number of pages.
    """

    folders: Sequence[Path]
    pages: int


def add_options(parser: argparse.ArgumentParser) -> None:
    """The fields of `RealPagesOptions`."""
    sample_pages.add_options(parser, default="the real data sets below LAYOUTRAY_DATA, else synthetic pages")


def collect(options: RealPagesOptions, folder: Path) -> None:
    """Fill the new `folder` with links to files of at most `options.pages` pages."""
    sample_pages.collect(options.folders or _data_sets(), options.pages, folder)


def _data_sets() -> list[Path]:
    root = Path(os.environ.get("LAYOUTRAY_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    return [root / name for name in _DATA_SETS if (root / name).is_dir()]
