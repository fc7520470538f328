"""The dead letters that a verb of `layoutray dead-letters` works on."""

import argparse
from dataclasses import dataclass

from layoutray.errors import InputError, Reason
from layoutray.store import sources
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter


@dataclass(frozen=True, kw_only=True)
class DeadLetterFilter:
    """Options that select dead letters.

    Attributes:
        folder: written by `ingest` or `encode`.
        reason, stage: only dead letters with these; None takes all.
    """

    folder: str
    reason: str | None
    stage: str | None

    def select(self) -> list[DeadLetter]:
        """The selected dead letters in order of source and page. Raises InputError if the folder does not exist."""
        if not sources.exists(self.folder):
            raise InputError(f"{self.folder} does not exist; give a folder written by `layoutray ingest`")
        letters = [
            letter
            for letter in DataSet(self.folder).read_dead_letters()
            if self.reason in (None, letter.reason) and self.stage in (None, letter.stage)
        ]
        return sorted(letters, key=lambda letter: (letter.source, letter.page or 0))


def add_filter_options(parser: argparse.ArgumentParser) -> None:
    """The fields of `DeadLetterFilter`."""
    parser.add_argument("folder", help="folder or s3:// address written by `layoutray ingest` or `encode`")
    parser.add_argument("--reason", choices=[reason.value for reason in Reason], help="only those with this reason")
    parser.add_argument(
        "--stage",
        choices=("open", "render", "ocr", "annotation", "encode"),
        help="only those that failed at this stage",
    )
