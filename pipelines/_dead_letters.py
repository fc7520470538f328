"""Which dead letters a call of `layoutray dead-letters` is about."""

import argparse

from layoutray.errors import InputError, Reason
from layoutray.store import sources
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter


def add_options(parser: argparse.ArgumentParser) -> None:
    """The folder, and which of its dead letters."""
    parser.add_argument("folder", help="folder or s3:// address that `layoutray ingest` or `encode` has filled")
    parser.add_argument("--reason", choices=[reason.value for reason in Reason], help="only those with this reason")
    parser.add_argument(
        "--stage", choices=("open", "render", "ocr", "annotation", "encode"), help="only those that failed there"
    )


def chosen(options: argparse.Namespace) -> list[DeadLetter]:
    """The dead letters that `options` ask for, by source and page. Raises InputError when there is no such folder."""
    if not sources.exists(options.folder):
        raise InputError(f"{options.folder} does not exist; point to a folder that `layoutray ingest` has filled")
    letters = [
        letter
        for letter in DataSet(options.folder).read_dead_letters()
        if options.reason in (None, letter.reason) and options.stage in (None, letter.stage)
    ]
    return sorted(letters, key=lambda letter: (letter.source, letter.page or 0))
