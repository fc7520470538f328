"""Which examples each step sees: a pure function of the seed and the step, so that resuming needs no state.

A step's batch is cut into micro-batches of fixed size. Each is padded, masked and dropped out with random numbers that
depend on (seed, step, micro-batch) alone. Workers take turns at them; so one process and many see the same numbers.
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
from layoutray.tasks import Corruption
from layoutray.tensors import Batch


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
class Feed:
    """Batches of a set.

    Attributes:
        batch_size: windows per step, over all workers.
        micro_batch_size: windows per forward pass; divides `batch_size`.
        box_jitter: of training boxes, see `batching.jitter`.
    """

    examples: ExampleSet
    corruption: Corruption
    pad_id: int
    batch_size: int
    micro_batch_size: int
    seed: int
    box_jitter: float = 0.0

    def __post_init__(self) -> None:
        if len(self.examples) == 0:
            raise InputError("there are no examples to feed; check the split's pages and the dead letters of `encode`")

    def training(self, step: int, rank: int, size: int) -> list[MicroBatch]:
        """This worker's micro-batches of `step` (from 0), its windows in order of length, as each micro-batch is padded to its longest.

        Epochs follow one another; each is a new shuffle. What a step learns does not depend on the order: losses are summed over it.

        Raises:
            InputError: when the step has fewer micro-batches than `size` workers.
        """
        parts = check_share(self.batch_size, self.micro_batch_size, size)
        rows = np.array(
            [self._row(position) for position in range(step * self.batch_size, (step + 1) * self.batch_size)]
        )
        chunks = rows[np.argsort(self.examples.lengths[rows], kind="stable")].reshape(parts, self.micro_batch_size)
        return [
            self._micro_batch(chunks[part], (self.seed, 1, step, part), self.box_jitter)
            for part in range(rank, parts, size)
        ]

    def evaluation(self, rank: int, size: int) -> Iterator[MicroBatch]:
        """This worker's share of every example once, in order of length (little padding); the same masks every time."""
        order = np.argsort(self.examples.lengths, kind="stable")
        chunks = [order[at : at + self.micro_batch_size] for at in range(0, len(order), self.micro_batch_size)]
        for part in range(rank, len(chunks), size):
            yield self._micro_batch(chunks[part], (self.seed, 2, part), 0.0)

    def _row(self, position: int) -> int:
        epoch, at = divmod(position, len(self.examples))
        return int(_shuffle(self.seed, epoch, len(self.examples))[at])

    def _micro_batch(self, rows: np.ndarray, key: tuple[int, ...], box_jitter: float) -> MicroBatch:
        masking, dropout = (
            int(number) for number in np.random.SeedSequence(key).generate_state(2, np.uint64) >> np.uint64(1)
        )
        examples = tuple(self.examples[int(row)] for row in rows)
        generator = torch.Generator().manual_seed(masking)
        batch = self.corruption(collate(examples, self.pad_id), generator)
        return MicroBatch(jitter(batch, box_jitter, generator) if box_jitter else batch, examples, dropout)


def check_share(batch_size: int, micro_batch_size: int, workers: int) -> int:
    """Micro-batches of a step. Raises InputError when there is not one for each of `workers`."""
    parts = batch_size // micro_batch_size
    if parts < workers:
        raise InputError(
            f"{parts} micro-batches per step cannot be shared by {workers} workers; "
            f"make train.batch_size / train.micro_batch_size at least {workers}, best a multiple of it"
        )
    return parts


@lru_cache(maxsize=2)
def _shuffle(seed: int, epoch: int, size: int) -> np.ndarray:
    return np.random.default_rng((seed, 0, epoch)).permutation(size)
