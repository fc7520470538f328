"""Options of the commands that measure a checkpoint."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.cli.shared import options
from layoutray.errors import InputError
from layoutray.evaluation.page_selection import PageSelection
from layoutray.tracking import registered, runs
from layoutray.tracking.runs import Run


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """The pages that something is measured on.

    Attributes:
        pages: folders that `layoutray ingest` has written.
        without: file with the ids of documents to leave out.
    """

    pages: Sequence[str]
    split: str
    without: Path | None

    def selection(self) -> PageSelection:
        """The pages to measure.

        Raises:
            InputError: when the file of excluded documents cannot be read.
        """
        folders = tuple(self.pages)
        if self.without is None:
            return PageSelection(folders, self.split)
        return PageSelection(folders, self.split, _document_ids(self.without), self.without.stem)


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions(SelectionOptions):
    """A checkpoint and the pages it is measured on.

    Attributes:
        checkpoint: a folder, an `s3://` address, or `models:/NAME@ALIAS`.
        tracking_uri: of MLflow.
    """

    checkpoint: str
    tracking_uri: str

    def load(self) -> "TrackedCheckpoint":
        """The checkpoint and its folder."""
        folder, _ = registered.checkpoint_folder(self.checkpoint, self.tracking_uri)
        return TrackedCheckpoint(checkpoint.load(folder), folder, self.tracking_uri)


@dataclass(frozen=True)
class TrackedCheckpoint:
    """A loaded checkpoint, and where its MLflow run is noted."""

    loaded: Checkpoint
    folder: str
    tracking_uri: str

    def run(self) -> Run | None:
        """The MLflow run of its training; None when the folder names none."""
        return runs.noted(self.folder, self.tracking_uri)


def add_evaluation_options(parser: argparse.ArgumentParser) -> None:
    """The fields of `EvaluationOptions`."""
    options.add_checkpoint(parser)
    add_selection_options(parser)
    options.add_tracking_uri(parser)


def add_selection_options(parser: argparse.ArgumentParser, folders: Literal["+", 1] = "+") -> None:
    """The fields of `SelectionOptions`.

    Args:
        folders: how many folders of pages are taken.
    """
    parser.add_argument("pages", nargs=folders, help="folders written by `layoutray ingest`")
    parser.add_argument("--split", default="test", choices=("train", "dev", "test"))
    parser.add_argument(
        "--without", type=Path, metavar="FILE", help="exclude the documents in FILE, one doc_id per line"
    )


def _document_ids(file: Path) -> frozenset[str]:
    try:
        return frozenset(file.read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--without {file} cannot be read: {error}; it must be a text file with one doc_id per line"
        ) from error
