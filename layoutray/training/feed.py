"""Which examples each step sees: a pure function of seed and step, so that resuming needs no state.

The batch of a step is cut into micro-batches of fixed size. Each is padded, masked and dropped out with random numbers
that depend only on (seed, step, micro-batch). Workers take turns at the micro-batches, so one process and many see the
same numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from layoutray.batching.collate import collate
from layoutray.batching.examples import Example, ExampleSet
from layoutray.batching.jitter import jitter
from layoutray.errors import InputError
from layoutray.recipe import Recipe
from layoutray.tasks import Corruption
from layoutray.tensors import Batch
from layoutray.tokenizer import Tokenizer


@dataclass(frozen=True)
class MicroBatch:
    """One forward pass.

    Attributes:
        seed: for the random numbers of that pass (dropout).
    """

    batch: Batch
    examples: tuple[Example, ...]
    seed: int


@dataclass(frozen=True)
class BatchPlan:
    """How examples are grouped, shuffled and augmented.

    Attributes:
        batch_size: examples per step, over all workers.
        micro_batch_size: examples per forward pass; divides `batch_size`.
        seed: of the shuffle, masking and dropout.
        box_jitter: of training boxes, see `batching.jitter`.
    """

    batch_size: int
    micro_batch_size: int
    seed: int
    box_jitter: float = 0.0


@dataclass(frozen=True)
class Feed:
    """Batches of a set of examples. Raises InputError if the set is empty.

    Attributes:
        corruption: of each batch, by the task (masking).
        pad_id: id of the padding token.
    """

    examples: ExampleSet
    corruption: Corruption
    pad_id: int
    plan: BatchPlan

    def __post_init__(self) -> None:
        if len(self.examples) == 0:
            raise InputError("there are no examples to feed; check the split's pages and the dead letters of `encode`")

    def training(self, step: int, rank: int, size: int) -> list[MicroBatch]:
        """This worker's micro-batches of `step` (from 0). Examples are sorted by length, as padding is per micro-batch.

        Epochs follow one another; each is a new shuffle. Losses are summed over a step, so order does not matter.

        Raises:
            InputError: if the step has fewer micro-batches than `size` workers.
        """
        batch_size, micro_batch_size = self.plan.batch_size, self.plan.micro_batch_size
        parts = check_share(batch_size, micro_batch_size, size)
        rows = np.array([self._row(position) for position in range(step * batch_size, (step + 1) * batch_size)])
        chunks = rows[np.argsort(self.examples.lengths[rows], kind="stable")].reshape(parts, micro_batch_size)
        return [
            self._micro_batch(chunks[part], (self.plan.seed, 1, step, part), self.plan.box_jitter)
            for part in range(rank, parts, size)
        ]

    def evaluation(self, rank: int, size: int) -> Iterator[MicroBatch]:
        """This worker's share of all examples, each once, sorted by length; the masks are the same every time."""
        order = np.argsort(self.examples.lengths, kind="stable")
        step = self.plan.micro_batch_size
        chunks = [order[start : start + step] for start in range(0, len(order), step)]
        for part in range(rank, len(chunks), size):
            yield self._micro_batch(chunks[part], (self.plan.seed, 2, part), 0.0)

    def _row(self, position: int) -> int:
        epoch, offset = divmod(position, len(self.examples))
        return int(_shuffle(self.plan.seed, epoch, len(self.examples))[offset])

    def _micro_batch(self, rows: np.ndarray, key: tuple[int, ...], box_jitter: float) -> MicroBatch:
        masking, dropout = (
            int(number) for number in np.random.SeedSequence(key).generate_state(2, np.uint64) >> np.uint64(1)
        )
        examples = tuple(self.examples[int(row)] for row in rows)
        generator = torch.Generator().manual_seed(masking)
        batch = self.corruption(collate(examples, self.pad_id), generator)
        return MicroBatch(jitter(batch, box_jitter, generator) if box_jitter else batch, examples, dropout)


def recipe_feed(recipe: Recipe, tokenizer: Tokenizer, examples: ExampleSet) -> Feed:
    """The batches of `examples` by the settings of `recipe`."""
    corruption = recipe.task.corruption(tokenizer)
    settings = recipe.train
    plan = BatchPlan(settings.batch_size, settings.micro_batch_size, recipe.seed, settings.box_jitter)
    return Feed(examples, corruption, tokenizer.pad_id, plan)


def check_share(batch_size: int, micro_batch_size: int, workers: int) -> int:
    """Micro-batches of a step. Raises InputError if there is not at least one for each of `workers`."""
    parts = batch_size // micro_batch_size
    if parts < workers:
        raise InputError(
            f"{parts} micro-batches per step cannot be shared by {workers} workers; "
            f"make train.batch_size / train.micro_batch_size at least {workers}, ideally a multiple of it"
        )
    return parts


@lru_cache(maxsize=2)
def _shuffle(seed: int, epoch: int, size: int) -> np.ndarray:
    return np.random.default_rng((seed, 0, epoch)).permutation(size)
