"""Pages that a benchmark reads: of named folders, else of the real data sets on this machine, else synthetic ones."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from layoutray.cli.benchmark import page_sample

_DATA_SETS = ("sroie", "funsd", "wildreceipt")
"""Data sets of real scans below LAYOUTRAY_DATA, which are read when no folder is named."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """`FOLDERS` and `--pages`."""
    page_sample.add_options(parser, default="the real data sets below LAYOUTRAY_DATA, else synthetic pages")


def collect(folders: Sequence[Path], count: int, folder: Path) -> None:
    """Fill the new `folder` with links to files of at most `count` pages."""
    page_sample.collect(folders or _data_sets(), count, folder)


def _data_sets() -> list[Path]:
    root = Path(os.environ.get("LAYOUTRAY_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    return [root / name for name in _DATA_SETS if (root / name).is_dir()]
