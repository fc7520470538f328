"""Options that choose which pages a benchmark reads."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure.page_sample import link_sample
from layoutray.cli.shared import terminal
from layoutray.synthetic.render import render_set

_SEED = 7


def add_options(parser: argparse.ArgumentParser, *, default: str = "synthetic pages") -> None:
    """`FOLDERS` and `--pages`; `default` names in the help what is read when no folder is given."""
    parser.add_argument("folders", nargs="*", type=Path, help=f"folders of pictures and PDF files (default: {default})")
    parser.add_argument(
        "--pages",
        type=int,
        default=500,
        help="maximum number of pages, spread evenly over all documents (default: 500)",
    )


def collect(folders: Sequence[Path], count: int, folder: Path) -> None:
    """Fill the new `folder` with links to files of at most `count` pages; without `folders`, with synthetic pages."""
    if folders:
        link_sample(folders, count, folder)
        return
    terminal.say(f"no folder is named: rendering {count} synthetic pages")
    drawn = folder.with_name("synthetic")
    render_set(drawn, count, seed=_SEED)
    link_sample([drawn], count, folder)
