import numpy as np
import pytest

from benchmarks.measure.word_graph import (
    FILTER,
    LIBPYSAL,
    NEAREST,
    OURS,
    compare_graphs,
    in_table,
    on_lines,
    scattered,
    throughput,
)
from tests.jobs import pages, vocabulary


@pytest.mark.parametrize("words", [64, 1024])
def test_random_pages_have_the_given_number_of_words(words: int) -> None:
    random = np.random.default_rng(0)
    for make in (scattered, on_lines, in_table):
        points = make(words, random)
        assert points.shape == (words, 2)
        assert points.min() >= 0
        assert points.max() <= 2000
    assert len(np.unique(on_lines(words, random)[:, 1])) == -(-words // 15)


def test_peers_are_right_unless_four_points_are_on_a_circle() -> None:
    random = np.random.default_rng(0)
    without_ties = compare_graphs([random.integers(0, 30_000, (40, 2)) for _ in range(2)])
    assert without_ties.words == 40
    assert dict(without_ties.pages_wrong) == {LIBPYSAL: 0, FILTER: 0}
    assert set(without_ties.milliseconds) == {OURS, NEAREST, LIBPYSAL, FILTER}
    with_ties = compare_graphs([in_table(16, random)])
    assert dict(with_ties.wrong) == {LIBPYSAL: 9 / 42, FILTER: 9 / 42}, "one diagonal of each cell"
    assert dict(with_ties.pages_wrong) == {LIBPYSAL: 1, FILTER: 1}


def test_a_peer_that_fails_for_points_on_a_line_has_all_edges_wrong() -> None:
    assert dict(compare_graphs([np.arange(10).repeat(2).reshape(10, 2)]).wrong) == {LIBPYSAL: 1, FILTER: 1}


@pytest.mark.slow
def test_windows_without_their_graphs_are_faster() -> None:
    speed = throughput(pages(3), vocabulary(), 64)
    assert 0 < speed.with_graph < speed.without
