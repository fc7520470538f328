"""What bulk jobs of all models share: a job owns its output folder, continues where it was, and ends with its counts.

1. The plan lists the shards of answers that the data set needs, under names made from the content.
2. Replicas answer the units whose shards are missing. A unit that Ray repeats replaces its own shard.
3. The answers are counted from the shards, and the manifest is written.

Shards that a killed run has completed stay. The next run plans the same names and answers only the missing ones.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

import pyarrow as pa
import ray.data

from layoutray.checkpoint import Checkpoint, Fetch
from layoutray.cluster.connect import allow_slow_batches
from layoutray.cluster.placement import Replicas
from layoutray.cluster.progress import Progress, watch
from layoutray.prepare.answer_plan import Unit, make_plan
from layoutray.store.answer_set import AnswerSet
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter
from layoutray.tasks import WritesTexts
from layoutray.version import VERSION

_UNITS_PER_BLOCK = 16
"""Units that Ray gives to a replica at once, at most. Ray holds one object for each block of units."""
_BLOCKS_PER_REPLICA = 4
"""Blocks of few units, at least, so that no replica waits long for the last one."""

_UNIT = pa.schema(
    [
        ("shard", pa.string()),
        ("start", pa.int64()),
        ("rows", pa.int64()),
        ("name", pa.string()),
        ("pages", pa.list_(pa.string())),
    ]
)
"""A `Unit` as a row for Ray."""


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """What the answers in a folder depend on.

    Attributes:
        model_version: hash of everything in the checkpoint that changes answers.
        source: the data set, or the folder of files that it was ingested from.
        options: options of the command that change answers.
    """

    model_id: str
    model_version: str
    source: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, loaded: Checkpoint, source: str, beams: int = 1) -> "JobIdentity":
        """The identity of a job with this model. `beams` changes the answers of models that generate texts."""
        options = {"beams": beams} if isinstance(loaded.recipe.task, WritesTexts) else {}
        return cls(loaded.recipe.name, loaded.version, source, options)

    @property
    def beams(self) -> int:
        """Beam width of a model that generates texts (1 = greedy)."""
        return self.options.get("beams", 1)

    def claim(self, out: str) -> AnswerSet:
        """The answers in `out`, which this job owns now. Raises InputError if another job owns that folder."""
        answers = AnswerSet(out)
        answers.claim(asdict(self))
        return answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer(ABC):
    """A job. What depends on the kind of model is abstract; `fetch` gives the folder of the checkpoint."""

    checkpoint: str
    fetch: Fetch
    data_set: DataSet
    answers: AnswerSet
    identity: JobIdentity

    @abstractmethod
    def units(self) -> Iterator[Unit]:
        """All units of the data set."""

    @abstractmethod
    def failures(self) -> Iterator[tuple[str, Sequence[DeadLetter]]]:
        """Dead letters, and the name of the shard of their answers."""

    @abstractmethod
    def answer(self, units: ray.data.Dataset, replicas: Replicas) -> ray.data.Dataset:
        """Write the shards of `units`, one row each. The result has the number of rows of each unit, as `rows`."""

    @abstractmethod
    def answer_failures(self, letters: Sequence[DeadLetter], name: str) -> None:
        """Write the shard `name` of answers to dead letters."""

    @abstractmethod
    def count(self) -> Mapping[str, int]:
        """Counts of all answers, from their shards. `answered` and `failed` are two of them."""


def run(answerer: Answerer, replicas: Replicas, stage: str, progress: Callable[[Progress], None]) -> dict[str, int]:
    """Answer what the folder of the job lacks.

    Args:
        stage: see `Progress`.

    Returns:
        The counts of all answers, and as `new` the number of pages or documents that this run has answered.
    """
    started, answers = time.monotonic(), answerer.answers
    answers.clear_half_written()
    written = answers.written()
    plan = make_plan(answerer.units(), answerer.failures(), written)
    manifest = answers.manifest()
    if manifest and written == plan.names:
        return manifest["counts"] | {"new": 0}
    answers.remove_manifest()
    answers.keep_only(plan.names & written)
    if plan.remaining:
        size = min(_UNITS_PER_BLOCK, ceil(len(plan.remaining) / (_BLOCKS_PER_REPLICA * replicas.count)))
        rows = list(map(asdict, plan.remaining))
        parts = (rows[start : start + size] for start in range(0, len(rows), size))
        units = ray.data.from_blocks([pa.Table.from_pylist(part, schema=_UNIT) for part in parts])
        units.context.target_max_block_size = 1  # Ray passes on each row at once: for the progress, and between stages
        allow_slow_batches(units)
        start = Progress(stage=stage, done=0, total=plan.rows - plan.skipped, skipped=plan.skipped)
        watch(answerer.answer(units, replicas), start, progress)
    for name, letters in answerer.failures():
        if name not in written:
            answerer.answer_failures(letters, name)
    counts = dict(answerer.count())
    planned = plan.rows + plan.letters
    assert counts["answered"] + counts["failed"] == planned, f"{planned} answers were planned; found {counts}"
    latest = {"new": plan.rows - plan.skipped, "seconds": time.monotonic() - started, "replicas": replicas.count}
    answers.write_manifest(asdict(answerer.identity) | {"counts": counts, "version": VERSION, "run": latest})
    return counts | {"new": plan.rows - plan.skipped}
