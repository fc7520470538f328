"""Options of the commands that measure a checkpoint, and its MLflow run, which gets the metrics."""

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.cli.shared import options
from layoutray.errors import InputError
from layoutray.evaluation.page_selection import PageSelection
from layoutray.prepare import origin
from layoutray.store import shards, sources
from layoutray.tracking import metric_names, registered, runs
from layoutray.tracking.opening import DataUsed, titled
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


@dataclass(frozen=True)
class MeasuredPages:
    """Selected pages as a data set in MLflow, and as part of the names of metrics."""

    selection: PageSelection

    @cached_property
    def documents(self) -> str:
        """The names of the folders of the documents."""
        return " and ".join(origin.names_of(self.selection.folders))

    @cached_property
    def words(self) -> str:
        """The word sources of the pages."""
        return origin.word_sources(self.selection.folders, self.selection.rows)

    @cached_property
    def data(self) -> DataUsed:
        """The pages as a data set of MLflow, whose digest is their split and the names of their files."""
        chosen, counts = self.selection, {"pages": self.selection.num_pages}
        # The name of a file of pages follows from its content.
        files = [sources.name(file) for data_set in chosen.data_sets for file in shards.shards(data_set.pages)]
        identity = json.dumps([chosen.name, sorted(chosen.excluded), files])
        digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
        return DataUsed(
            title=titled(self.documents, self.words),
            digest=digest,
            folder=chosen.folders[0],
            context=chosen.name,
            counts=counts,
        )

    def metric(self, name: str) -> str:
        """What MLflow calls a metric that was measured on the pages."""
        return metric_names.of_evaluation(self.selection.name, self.words, name)

    def log(self, run: Run, step: int, metrics: Mapping[str, float]) -> None:
        """Log `metrics` of the checkpoint of `step`, which were measured on the pages."""
        run.log_evaluation(step, {self.metric(name): value for name, value in metrics.items()}, self.data)


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
