"""What is measured: a checkpoint, and pages; the MLflow run of the checkpoint gets the metrics."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from layoutray.checkpoint import Checkpoint
from layoutray.document.word_source import WordSource, other_words
from layoutray.evaluation.page_selection import PageSelection
from layoutray.prepare import origin
from layoutray.store import shards, sources
from layoutray.tracking import metric_names, runs
from layoutray.tracking.opening import DataUsed, titled
from layoutray.tracking.runs import Run


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

    def other_words(self, learnt: Sequence[WordSource]) -> list[str]:
        """How the words of the pages differ from those of which a model has learnt."""
        found = origin.word_source_counts(self.selection.folders, self.selection.rows)
        return [warning.message for warning in other_words(found, learnt)]

    def metric(self, name: str) -> str:
        """What MLflow calls a metric that was measured on the pages."""
        return metric_names.of_evaluation(self.selection.name, self.words, name)

    def log(self, run: Run, step: int, metrics: Mapping[str, float]) -> None:
        run.log_evaluation(step, {self.metric(name): value for name, value in metrics.items()}, self.data)
