"""The order in which training sees the examples: a pure function of seed, epoch and position.

Up to `window` examples are shuffled as a whole. More are shuffled in two steps, so that a worker reads neighbouring
rows of the files and keeps only the numbers of one group in memory: first the blocks of the files, then the examples of
each group of blocks with about `window` examples.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.integer[Any]]


class Shuffle:
    """An endless sequence of example numbers. Each epoch contains every example once, in another order."""

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
        """The examples of a group in their order."""
        if self._size <= self._window:
            key, rows = (self._seed, 0, epoch), np.arange(self._size, dtype=self._number)
        else:
            key, blocks = (self._seed, 0, epoch, group), self._groups(epoch)[0][group]
            spans = zip(self._starts[blocks], self._starts[blocks + 1], strict=True)
            rows = np.concatenate([np.arange(first, end, dtype=self._number) for first, end in spans])
        np.random.default_rng(key).shuffle(rows)
        return rows
