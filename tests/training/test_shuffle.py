"""The order of training: every example once an epoch, for any size of data, and the same whenever it is asked for."""

from collections import Counter

import numpy as np
import pytest

from layoutray.training.feed import Shuffle

STARTS = np.array([0, 10, 20, 23, 33, 40])


@pytest.mark.parametrize("window", [1, 7, 15, 20, 39, 40, 1000])
def test_an_epoch_has_every_example_once_and_the_next_is_another_order(window: int) -> None:
    epochs = [Shuffle(5, STARTS, window).rows(40 * epoch, 40 * epoch + 40).tolist() for epoch in range(3)]
    assert all(sorted(epoch) == list(range(40)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert Shuffle(6, STARTS, window).rows(0, 40).tolist() != epochs[0]


@pytest.mark.parametrize("window", [1, 15, 1000])
def test_the_order_does_not_depend_on_how_it_is_asked_for(window: int) -> None:
    whole = Shuffle(5, STARTS, window).rows(0, 130)
    backwards = [Shuffle(5, STARTS, window).rows(first, first + 13) for first in range(117, -1, -13)]
    assert whole.tolist() == np.concatenate(backwards[::-1]).tolist()


def test_small_data_are_shuffled_as_a_whole() -> None:
    expected = np.random.default_rng((5, 0, 1)).permutation(40)
    assert Shuffle(5, STARTS, 40).rows(40, 80).tolist() == expected.tolist()


def test_large_data_are_read_a_group_of_blocks_at_a_time() -> None:
    starts = np.arange(0, 10_001, 10)
    rows = Shuffle(5, starts, 1000).rows(0, 10_000)
    blocks = rows // 10
    groups = [set(blocks[at : at + 1000].tolist()) for at in range(0, 10_000, 1000)]
    assert [len(group) for group in groups] == [100] * 10, "a group is 100 whole blocks"
    assert max(Counter(blocks[:100].tolist()).values()) < 10, "which are mixed"
    assert np.abs(np.corrcoef(np.arange(10_000), rows)[0, 1]) < 0.05, "and come from everywhere"


def test_numbers_of_a_group_take_few_bytes_each() -> None:
    starts = np.arange(0, 100_001, 10)
    assert [Shuffle(5, starts, window).rows(0, 5).itemsize for window in (1000, 1 << 20)] == [4, 4]
