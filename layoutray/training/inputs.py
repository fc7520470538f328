"""Everything that one process trains from: opened once, checked before the first step."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from layoutray import checkpoint
from layoutray.batching.examples import ExampleSet, TableBlocks
from layoutray.errors import InputError
from layoutray.store import example_files, sources
from layoutray.store.card import Card
from layoutray.store.example_files import ExampleFiles
from layoutray.tasks import TaskModel
from layoutray.tokenizer import Tokenizer
from layoutray.training.feed import check_share
from layoutray.training.job import Job
from layoutray.training.start import start_model
from layoutray.version import VERSION


@dataclass(frozen=True)
class CheckedJob:
    """A job whose examples, recipe and starting checkpoints fit together. Holds no weights: a driver can keep it.

    Attributes:
        fresh: names of the encoder's tensors that the starting checkpoints leave randomly initialised; empty without
            such checkpoints.
    """

    job: Job
    card: Card
    fresh: tuple[str, ...]


@dataclass(frozen=True)
class TrainingInputs:
    """What one process trains from.

    Attributes:
        tokenizer: of the examples.
        model: before the first step.
        train, dev: the examples of these splits; opened on first use, as a driver needs none.
    """

    checked: CheckedJob
    tokenizer: Tokenizer
    model: TaskModel

    @property
    def job(self) -> Job:
        return self.checked.job

    @property
    def card(self) -> Card:
        return self.checked.card

    @cached_property
    def train(self) -> ExampleSet:
        """Those of the documents that `train.documents` and `train.fold` choose are in memory.

        Documents are taken by the hash of their ids, so that those of a smaller number are among them.
        """
        folder, settings = self.job.examples, self.job.recipe.train
        if not (settings.documents or settings.fold):
            return open_split(folder, "train")
        every = _training_examples(folder)
        ids = set(every.column("doc_id").to_pylist())
        if settings.fold:
            ids -= fold(ids, settings.fold, settings.folds)
        if settings.documents > len(ids):
            raise InputError(
                f"train.documents is {settings.documents}, and {folder} has {len(ids)} training documents; "
                f"give a number up to {len(ids)}, or 0 for all"
            )
        chosen = _ranked(ids, f"train {self.job.recipe.seed}")[: settings.documents or None]
        return ExampleSet(TableBlocks(every.filter(pc.field("doc_id").isin(pa.array(chosen, pa.string())))))

    @cached_property
    def dev(self) -> ExampleSet:
        return open_split(self.job.examples, "dev")

    @property
    def provenance(self) -> dict[str, Any]:
        """Data, code version and parents, for the checkpoint."""
        return {
            "layoutray": VERSION,
            "examples": self.job.examples,
            "examples_digest": self.card.digest,
            "pages_from": list(self.card.sources),
            "words": list(self.card.learnt),
            "init": list(self.job.init),
            "fresh": list(self.checked.fresh),
        }


def prepare(job: Job, workers: int) -> TrainingInputs:
    """Open card, vocabulary and starting checkpoints of `job` and build its model.

    Args:
        workers: number of processes that will share a step.

    Raises:
        InputError: if data, recipe, starting checkpoints or `workers` do not fit together.
    """
    card, recipe, settings = Card.read(job.examples), job.recipe, job.recipe.train
    if card.task != recipe.task.name:
        raise InputError(
            f"{job.examples} was encoded for task {card.task}, the recipe trains {recipe.task.name}; "
            "encode again or use the other recipe"
        )
    if card.max_length > recipe.max_length:
        raise InputError(
            f"{job.examples} has windows of up to {card.max_length} tokens, the recipe allows {recipe.max_length}; "
            f"encode again with max_length={recipe.max_length}, or train with {card.max_length}"
        )
    if settings.new_parts_factor != 1 and not job.init:
        raise InputError(
            f"train.new_parts_factor is {settings.new_parts_factor}, but without --init all parameters are new; start "
            "from a checkpoint, or set train.learning_rate instead"
        )
    if settings.start_share and not job.init:
        raise InputError(
            f"train.start_share is {settings.start_share}, but without --init the training starts from random weights; "
            "start from a checkpoint, or set it to 0"
        )
    check_share(settings.batch_size, settings.micro_batch_size, workers)
    tokenizer = checkpoint.read_vocabulary(job.examples)
    model = checkpoint.build_model(recipe, tokenizer, card.labels)
    fresh = start_model(model, recipe, tokenizer, job.init, job.fetch, card.labels)
    return TrainingInputs(CheckedJob(job, card, fresh), tokenizer, model)


def check(job: Job, workers: int) -> CheckedJob:
    """`prepare` without keeping the model, for a driver whose workers prepare the job themselves."""
    return prepare(job, workers).checked


def open_split(folder: str, split: str) -> ExampleSet:
    """The examples of a split, in the order of their files; none if the split has no pages."""
    return ExampleSet(ExampleFiles(sources.join(folder, split)))


def training_documents(folder: str) -> list[str]:
    """Ids of the documents that have training examples in `folder`, sorted."""
    return sorted(set(_training_examples(folder).column("doc_id").to_pylist()))


def fold(doc_ids: Iterable[str], number: int, folds: int) -> frozenset[str]:
    """The documents of part `number` (from 1) of `folds`, whose sizes differ by one at most, by their ids alone."""
    return frozenset(_ranked(doc_ids, "fold")[number - 1 :: folds])


def _ranked(doc_ids: Iterable[str], purpose: str) -> list[str]:
    """Document ids in an order that is random, but always the same for a purpose."""
    return sorted(doc_ids, key=lambda doc_id: hashlib.sha256(f"{purpose} {doc_id}".encode()).digest())


def _training_examples(folder: str) -> pa.Table:
    return example_files.read_table(sources.join(folder, "train"))
