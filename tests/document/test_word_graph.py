"""The graph equals its definition, whatever ties, coincidences and scales the points have."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.measure.gabriel import gabriel_edges
from layoutray.document import word_graph
from layoutray.document.word_graph import MAX_NEIGHBOURS, word_neighbours
from layoutray.errors import InputError

MANY_TIES = st.integers(1, 8).flatmap(
    lambda side: arrays(np.int64, st.tuples(st.integers(1, 25), st.just(2)), elements=st.integers(0, side))
)
PAGES = arrays(np.int64, st.tuples(st.integers(1, 25), st.just(2)), elements=st.integers(0, 2000))
POINTS = MANY_TIES | PAGES
BEYOND_TRIANGLES = 2**15 + 1
"""Times a distance of 1 is wider than what is triangulated."""


def by_definition(points: np.ndarray) -> list[list[int]]:
    return [
        [one, other]
        for one in range(len(points))
        for other in range(one + 1, len(points))
        if not (((points[one] - points) * (points[other] - points)).sum(axis=1) < 0).any()
    ]


def boxes_at(points: np.ndarray) -> np.ndarray:
    """Boxes without area."""
    return np.concatenate([points, points], axis=1)


@given(POINTS)
def test_edges_are_those_of_the_definition(points: np.ndarray) -> None:
    assert gabriel_edges(points).tolist() == by_definition(points)


@given(POINTS, st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), st.sampled_from([2, 3, BEYOND_TRIANGLES]))
def test_moving_and_enlarging_change_nothing(points: np.ndarray, move: tuple[int, int], scale: int) -> None:
    points = points % 1000  # both ways of finding edges are compared here, and the second one has an end too
    assert np.array_equal(gabriel_edges(scale * (points + move)), gabriel_edges(points))


@given(POINTS, st.randoms(use_true_random=False))
def test_numbers_of_words_mean_nothing_else(points: np.ndarray, random: Any) -> None:
    order = random.sample(range(len(points)), len(points))
    renumbered = np.sort(np.array(order)[gabriel_edges(points[order])].reshape(-1, 2), axis=1)
    assert sorted(renumbered.tolist()) == gabriel_edges(points).tolist()


@given(POINTS)
def test_every_word_is_reached_from_the_first(points: np.ndarray) -> None:
    reached, edges = {0}, gabriel_edges(points).tolist()
    for _ in points:
        reached |= {end for edge in edges for end in edge if reached & set(edge)}
    assert reached == set(range(len(points)))


@given(POINTS)
def test_neighbours_are_the_nearest_eight_by_centres(corners: np.ndarray) -> None:
    sizes = corners[::-1] % 4
    points = 2 * corners + sizes
    expected: list[list[int]] = [[] for _ in points]
    for one, other in by_definition(points):
        expected[one].append(other)
        expected[other].append(one)
    for word, neighbours in enumerate(expected):
        neighbours.sort(key=lambda other, word=word: (int(((points[word] - points[other]) ** 2).sum()), other))
        neighbours[:] = (neighbours + [-1] * MAX_NEIGHBOURS)[:MAX_NEIGHBOURS]
    found = word_neighbours(np.concatenate([corners, corners + sizes], axis=1).astype(np.int32))
    assert found.dtype == np.int32
    assert found.tolist() == expected


def test_words_in_one_place_list_the_first_of_them_and_take_no_quadratic_memory() -> None:
    everyone = word_neighbours(np.zeros((5000, 4), np.int64))
    assert everyone[0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert everyone[3].tolist() == [0, 1, 2, 4, 5, 6, 7, 8]
    assert everyone[4999].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_words(count: int) -> None:
    boxes = boxes_at(np.arange(2 * count).reshape(count, 2))
    assert word_neighbours(boxes).shape == (count, MAX_NEIGHBOURS)
    assert gabriel_edges(boxes[:, :2]).tolist() == [[0, 1]][: count - 1 if count else 0]


def test_points_of_one_circle_have_their_diameters() -> None:
    circle = np.array(
        [[5, 0], [4, 3], [3, 4], [0, 5], [-3, 4], [-4, 3], [-5, 0], [-4, -3], [-3, -4], [0, -5], [3, -4], [4, -3]]
    )
    edges = gabriel_edges(circle).tolist()
    assert all([one, one + 6] in edges for one in range(6))
    assert len(edges) == 12 + 6


@pytest.mark.parametrize("words", [1024, 5000])
def test_a_large_page_is_triangulated(words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(word_graph, "_edges_by_midpoints")
    random = np.random.default_rng(words)
    scattered, lines = random.integers(0, 2001, (words, 2)), random.integers(0, 2001, (words, 2)) // [1, 20] * [1, 20]
    for points in (scattered, lines):
        edges = gabriel_edges(points)
        some = edges[random.integers(0, len(edges), 50)]
        assert all(
            not (((points[one] - points) * (points[other] - points)).sum(axis=1) < 0).any() for one, other in some
        )
        assert len(np.unique(points, axis=0)) - 1 <= len(edges)


KITE = np.array([[0, 2], [3, 0], [3, 4], [9, 2]])
"""Its triangulation without the long diagonal is the Delaunay one."""


@pytest.mark.parametrize(
    ("triangles", "right"),
    [
        ([[0, 1, 2], [1, 3, 2]], True),
        ([[0, 1, 3], [0, 3, 2]], False),  # not Delaunay
        ([[0, 1, 2]], False),  # not every point
        ([[0, 1, 2], [1, 2, 3]], False),  # clockwise
        ([[0, 1, 2], [1, 3, 2], [0, 1, 2], [1, 3, 2]], False),  # twice
        ([[0, 1, 2], [0, 1, 3]], False),  # overlapping
        ([], False),
    ],
)
def test_only_delaunay_triangulations_are_trusted(triangles: list[list[int]], right: bool) -> None:
    sides = word_graph._sides(np.array(triangles, np.int64).reshape(-1, 3), KITE)
    assert word_graph._is_delaunay(sides, KITE) == right


def test_points_too_far_apart_are_refused() -> None:
    with pytest.raises(InputError, match="the points extend over 33554433; at most 33554432 is allowed"):
        gabriel_edges(np.array([[0, 0], [2**25 + 1, 0]]))
    with pytest.raises(TypeError, match="float64"):
        gabriel_edges(np.array([[0.5, 0.5]]))
