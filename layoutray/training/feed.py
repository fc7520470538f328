"""Which examples each step sees: a pure function of seed and step, so that resuming needs no state.

The batch of a step is cut into micro-batches of limited size. Each is padded, masked and given a dropout seed; these
random numbers depend only on (seed, step, micro-batch). Workers take turns at the micro-batches, so one process and
many see the same numbers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from layoutray.batching.augmentation import jitter, mask_words
from layoutray.batching.collate import IGNORED, collate
from layoutray.batching.examples import Example, ExampleSet
from layoutray.batching.padding import lengthen, pack, padded_length
from layoutray.errors import InputError
from layoutray.recipe.recipes import Recipe
from layoutray.recipe.train_section import TrainRecipe
from layoutray.tasks import Corruption
from layoutray.tensors import Batch
from layoutray.tokenizer import Tokenizer
from layoutray.training.flops import Work
from layoutray.training.prefetch import prefetched


@dataclass(frozen=True)
class MicroBatch:
    """One forward pass.

    Attributes:
        seed: for the random numbers of that pass (dropout).
        work: what it computes, without padding.
    """

    batch: Batch
    examples: tuple[Example, ...]
    seed: int
    work: Work


Rows = NDArray[np.integer[Any]]


class Shuffle:
    """An endless sequence of example numbers: a pure function of seed, epoch and position.

    Each epoch contains every example once, in another order. Up to `window` examples are shuffled as a whole. More are
    shuffled in two steps, so that a worker reads neighbouring rows of the files and keeps only the numbers of one group
    in memory: first the blocks of the files, then the examples of each group of blocks with about `window` examples.
    """

    def __init__(self, seed: int, starts: Rows, window: int) -> None:
        """
        Args:
            starts: first example of each block, and at the end the number of all examples.
            window: number of examples that are shuffled as a whole.
        """
        self._seed, self._starts, self._window = seed, starts, window
        self._size = int(starts[-1])
        self._groups = lru_cache(maxsize=2)(self._groups_of)
        self._number = np.min_scalar_type(self._size)
        self._rows = lru_cache(maxsize=1)(self._rows_of)  # a group takes some MB, and steps do not go back

    def rows(self, first: int, end: int) -> Rows:
        """The examples at the positions from `first` to `end`; positions count on over the epochs."""
        parts: list[Rows] = []
        while first < end:
            epoch, offset = divmod(first, self._size)
            _, ends = self._groups(epoch)
            group = int(np.searchsorted(ends, offset, side="right"))
            before = int(ends[group - 1]) if group else 0
            parts.append(self._rows(epoch, group)[offset - before : offset - before + end - first])
            first += len(parts[-1])
        return np.concatenate(parts)

    def _groups_of(self, epoch: int) -> tuple[list[Rows], Rows]:
        """The blocks of each group of an epoch, and the position in the epoch at which each group ends."""
        if self._size <= self._window:
            return [np.arange(len(self._starts) - 1)], np.array([self._size])
        sizes = np.diff(self._starts)
        order = np.random.default_rng((self._seed, 0, epoch)).permutation(len(sizes))
        positions = np.cumsum(sizes[order])
        last = np.flatnonzero(np.diff((positions - 1) // self._window, append=-1))
        return np.split(order, last[:-1] + 1), positions[last]

    def _rows_of(self, epoch: int, group: int) -> Rows:
        if self._size <= self._window:
            key, rows = (self._seed, 0, epoch), np.arange(self._size, dtype=self._number)
        else:
            key, blocks = (self._seed, 0, epoch, group), self._groups(epoch)[0][group]
            spans = zip(self._starts[blocks], self._starts[blocks + 1], strict=True)
            rows = np.concatenate([np.arange(first, end, dtype=self._number) for first, end in spans])
        np.random.default_rng(key).shuffle(rows)
        return rows


@dataclass(frozen=True, kw_only=True)
class Feed:
    """Batches of a set of examples. Raises InputError if the set is empty.

    Attributes:
        corruption: of each batch, by the task (masking).
        pad_id, mask_id: tokens of padding and of masked words.
        settings: how examples are grouped, shuffled and augmented.
        seed: of the shuffle, masking and dropout.
        max_length: no window is padded beyond this length.
        evaluated: largest number of examples of an evaluation; 0 takes all.
    """

    examples: ExampleSet
    corruption: Corruption
    pad_id: int
    mask_id: int
    settings: TrainRecipe
    seed: int
    max_length: int
    evaluated: int = 0

    def __post_init__(self) -> None:
        if len(self.examples) == 0:
            raise InputError("there are no examples to feed; check the split's pages and the dead letters of `encode`")

    def training(self, step: int, rank: int, size: int) -> list[MicroBatch]:
        """This worker's micro-batches of `step` (from 0). Examples are sorted by length, as padding is per micro-batch.

        Epochs follow one another; each is a new shuffle. Losses are summed over a step, so order does not matter.

        Raises:
            InputError: if the step has fewer micro-batches than `size` workers.
        """
        batch_size = self.settings.batch_size
        check_share(batch_size, self.settings.micro_batch_size, size)
        chunks = self._cut(self._shuffle.rows(step * batch_size, (step + 1) * batch_size))
        return [
            self._micro_batch(chunks[part], (self.seed, 1, step, part), self._augmented)
            for part in range(rank, len(chunks), size)
        ]

    def evaluation(self, rank: int, size: int) -> Iterator[MicroBatch]:
        """This worker's share of the examples, each once, sorted by length.

        Examples and masks are the same every time. A thread prepares the next micro-batches.
        """
        size_of_all, rows = len(self.examples), np.arange(len(self.examples))
        if 0 < self.evaluated < size_of_all:
            rows = np.sort(np.random.default_rng((self.seed, 3)).choice(size_of_all, self.evaluated, replace=False))
        chunks = self._cut(rows)

        def make(part: int) -> MicroBatch:
            return self._micro_batch(chunks[part], (self.seed, 2, part), lambda batch, _: batch)

        return prefetched(make, range(rank, len(chunks), size))

    def _cut(self, rows: Rows) -> list[Rows]:
        """The micro-batches of `rows`, each of windows of similar length."""
        lengths = self.examples.lengths[rows]
        order = np.argsort(lengths, kind="stable")
        rows, lengths = rows[order], lengths[order]
        starts, most_tokens = [0], self.settings.micro_batch_tokens
        for number, length in enumerate(map(self._padded_length, lengths.tolist())):
            size = number + 1 - starts[-1]  # of the micro-batch, with this window, which is its longest
            over = most_tokens and size > 1 and size * length > most_tokens
            if size > self.settings.micro_batch_size or over:
                starts.append(number)
        return np.split(rows, starts[1:])

    @cached_property
    def _shuffle(self) -> Shuffle:
        return Shuffle(self.seed, self.examples.starts, self.settings.shuffle_window)

    def _padded_length(self, length: int) -> int:
        return padded_length(length, self.settings.pad_to_multiple_of, self.max_length)

    def _augmented(self, batch: Batch, generator: torch.Generator) -> Batch:
        if self.settings.box_jitter:
            batch = jitter(batch, self.settings.box_jitter, generator)
        if self.settings.word_masking:
            batch = mask_words(batch, self.settings.word_masking, self.mask_id, generator)
        return batch

    def _micro_batch(
        self, rows: Rows, key: tuple[int, ...], augment: Callable[[Batch, torch.Generator], Batch]
    ) -> MicroBatch:
        masking, dropout = (
            int(number) for number in np.random.SeedSequence(key).generate_state(2, np.uint64) >> np.uint64(1)
        )
        examples = tuple(self.examples.take(rows))
        generator = torch.Generator().manual_seed(masking)
        batch = augment(self.corruption(collate(examples, self.pad_id), generator), generator)
        # Last, because masking draws a random number for each token of a batch.
        batch = lengthen(batch, self._padded_length(batch.input_ids.shape[1]), self.pad_id)
        batch = pack(batch) if self.settings.windows == "packed" else batch
        targets = 0 if batch.labels is None else int((batch.labels != IGNORED).sum())
        lengths = [len(example.input_ids) for example in examples]
        work = Work(int(batch.mask.sum()), targets, sum(length**2 for length in lengths))
        return MicroBatch(batch, examples, dropout, work)


def recipe_feed(recipe: Recipe, tokenizer: Tokenizer, examples: ExampleSet, *, evaluated: int = 0) -> Feed:
    """The batches of `examples` by the settings of `recipe`."""
    return Feed(
        examples=examples,
        corruption=recipe.task.corruption(tokenizer),
        pad_id=tokenizer.pad_id,
        mask_id=tokenizer.mask_id,
        settings=recipe.train,
        seed=recipe.seed,
        max_length=recipe.max_length,
        evaluated=evaluated,
    )


def check_share(batch_size: int, micro_batch_size: int, workers: int) -> int:
    """Micro-batches of a step. Raises InputError if there is not at least one for each of `workers`."""
    parts = batch_size // micro_batch_size
    if parts < workers:
        raise InputError(
            f"{parts} micro-batches per step cannot be shared by {workers} workers; "
            f"make train.batch_size / train.micro_batch_size at least {workers}, ideally a multiple of it"
        )
    return parts
