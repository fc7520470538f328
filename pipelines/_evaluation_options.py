"""Options of the commands that measure a checkpoint."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from layoutray import checkpoint, tracking
from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError
from layoutray.evaluation.page_selection import PageSelection
from layoutray.tracking import Run


@dataclass(frozen=True)
class EvaluationOptions:
    """A checkpoint and the pages it is measured on.

    Attributes:
        checkpoint: a folder, an `s3://` address, or `models:/NAME@ALIAS`.
        pages: folders that `layoutray ingest` has written.
        excluded: file with the ids of documents to leave out.
        tracking_uri: of MLflow.
    """

    checkpoint: str
    pages: tuple[str, ...]
    split: str
    excluded: Path | None
    tracking_uri: str

    @classmethod
    def of(cls, parsed: argparse.Namespace) -> "EvaluationOptions":
        """From the options of `add_evaluation_options`."""
        uri = parsed.tracking_uri or tracking.default_uri()
        return cls(parsed.checkpoint, tuple(parsed.pages), parsed.split, parsed.without, uri)

    def selection(self) -> PageSelection:
        """The pages to measure.

        Raises:
            InputError: when the file of excluded documents cannot be read.
        """
        if self.excluded is None:
            return PageSelection(self.pages, self.split)
        return PageSelection(self.pages, self.split, _document_ids(self.excluded), self.excluded.stem)

    def load(self) -> "TrackedCheckpoint":
        """The checkpoint and its folder."""
        folder, _ = tracking.checkpoint_folder(self.checkpoint, self.tracking_uri)
        return TrackedCheckpoint(checkpoint.load(folder), folder, self.tracking_uri)


@dataclass(frozen=True)
class TrackedCheckpoint:
    """A loaded checkpoint, and where its MLflow run is noted."""

    loaded: Checkpoint
    folder: str
    tracking_uri: str

    def run(self) -> Run | None:
        """The MLflow run of its training; None when the folder names none."""
        return tracking.noted(self.folder, self.tracking_uri)


def add_evaluation_options(parser: argparse.ArgumentParser) -> None:
    """Adds what `EvaluationOptions` needs."""
    parser.add_argument("checkpoint", help="checkpoint folder, its s3:// address, or models:/NAME@ALIAS")
    parser.add_argument("pages", nargs="+", help="folders that `layoutray ingest` has written")
    parser.add_argument("--split", default="test", choices=("train", "dev", "test"))
    parser.add_argument(
        "--without", type=Path, metavar="FILE", help="exclude the documents in FILE, one doc_id per line"
    )
    parser.add_argument(
        "--tracking-uri", default=None, help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)"
    )


def _document_ids(file: Path) -> frozenset[str]:
    try:
        return frozenset(file.read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--without {file} cannot be read: {error}; it must be a text file with one doc_id per line"
        ) from error
