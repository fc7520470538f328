"""The word graph of a page: the Gabriel graph of word centres.

This is the β-skeleton with β = 1 of FormNet (arXiv:2203.08411). Two points are neighbours unless a third point lies
strictly inside the disk with the two points as diameter (the open disk of Kirkpatrick and Radke, 1985). The graph is
connected for all inputs, and contains both diagonals of a square. Coordinates are integers; all tests are exact.

The edges follow from any Delaunay triangulation (no point strictly inside a triangle's circumcircle), however ties are
broken:

- A point strictly inside an edge's disk sees the edge at more than 90°. If the triangle corner on that side did not,
  the point would be strictly inside that triangle's circumcircle. So the one or two opposite corners decide whether an
  edge of the triangulation is in the graph.
- Neighbours without an edge in the triangulation are a diagonal of points on one empty circle. A point of that circle
  lies on each side of the diagonal; it is outside the disk only if the diagonal is the circle's diameter. So where
  adjacent triangles share a circumcircle, the diametrically opposite points complete the graph.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from numpy.typing import NDArray

from layoutray.errors import InputError

MAX_NEIGHBOURS = 8
"""Maximum number of neighbours of a word, as in FormNet."""

_WIDEST = 2**25
"""Largest extent for which squared doubled distances are below 2⁵³, so that the k-d tree's floats are exact."""
_WIDEST_TRIANGULATED = 2**15
"""Largest extent for which the test of two adjacent triangles, at most 4·width⁴, is below 2⁶³."""

FindNeighbours = Callable[[Int[np.ndarray, "words 4"]], Int[np.ndarray, "words 8"]]
"""`word_neighbours` or `no_neighbours`."""

Points = Int[np.ndarray, "points 2"]
Pairs = Int[np.ndarray, "pairs 2"]


class _Sides(NamedTuple):
    """The three sides of each triangle. Corner `apex` is opposite the side start → end, on its left.

    Attributes:
        to_start, to_end: vectors from the apex.
        area: twice the area of the triangle.
        dot: dot product of `to_start` and `to_end`; negative when the apex is strictly inside the side's disk.
        twin: index of the same side in the adjacent triangle; -1 when there is none.
        bend: has the sign of the sine of the sum of the two angles opposite the side: negative when the two triangles
            are not Delaunay, 0 when their corners are on one circle; 1 when there is no adjacent triangle.
    """

    apex: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    to_start: Points
    to_end: Points
    area: NDArray[np.int64]
    dot: NDArray[np.int64]
    twin: NDArray[np.int64]
    bend: NDArray[np.int64]


def word_neighbours(boxes: Int[np.ndarray, "words 4"]) -> Int[np.ndarray, "words 8"]:
    """Indices of the nearest neighbours of each word in the graph, nearest first, padded with -1.

    Distances are between word centres. Ties are broken by word index. The relation is not symmetric: a word can be in
    the list of another word without having it in its own.

    Args:
        boxes: x0 y0 x1 y1, integers; boxes without area are allowed. In thousandths of the page, the unit of models,
            the disk of a pair is an ellipse on a page that is not square.
    """
    doubled_centres = boxes[:, :2] + boxes[:, 2:]
    word, neighbour = neighbour_pairs(doubled_centres, MAX_NEIGHBOURS)
    rank = np.arange(len(word)) - np.searchsorted(word, word)
    nearest = no_neighbours(boxes)
    kept = rank < MAX_NEIGHBOURS
    nearest[word[kept], rank[kept]] = neighbour[kept]
    return nearest


def no_neighbours(boxes: Int[np.ndarray, "words 4"]) -> Int[np.ndarray, "words 8"]:
    """As `word_neighbours` of a graph without edges, for encoders that do not use the graph."""
    return np.full((len(boxes), MAX_NEIGHBOURS), -1, np.int32)


def neighbour_pairs(points: Points, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Point and neighbour of each edge, sorted by point, distance and neighbour.

    Points with equal coordinates are neighbours of each other; the first `limit` of them are enough.

    Raises:
        InputError: when the points extend over more than 2²⁵, where distances would not be exact.
    """
    if not len(points):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    shifted = points.astype(np.int64, casting="same_kind") - points.min(axis=0)
    width = int(shifted.max())
    if width > _WIDEST:
        raise InputError(
            f"the points extend over {width}; at most {_WIDEST} is allowed for exact distances; use a coarser unit"
        )
    places, place_of = np.unique(shifted @ [width + 1, 1], return_inverse=True)
    edges = _edges(np.stack(np.divmod(places, width + 1), axis=1))
    loops = np.repeat(np.arange(len(places)), 2).reshape(-1, 2)
    # One more than `limit`: a point is among the points with its own coordinates.
    point, neighbour = _members(place_of, np.concatenate([edges, edges[:, ::-1], loops]), limit + 1)
    apart = shifted.take(point, axis=0) - shifted.take(neighbour, axis=0)
    distance = _dot(apart, apart)
    order = np.lexsort((neighbour, distance, point))
    order = order[point[order] != neighbour[order]]
    return point[order], neighbour[order]


def _members(
    place_of: NDArray[np.int64], place_pairs: Pairs, limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of points from pairs of places: all points of the first with the first `limit` points of the second."""
    order, size = np.argsort(place_of, kind="stable"), np.bincount(place_of)
    first = np.cumsum(size) - size
    source, target = place_pairs.T
    used = np.minimum(size, limit)[target]
    count = size[source] * used
    pair = np.repeat(np.arange(len(place_pairs)), count)
    row, column = np.divmod(np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count), used[pair])
    return order[first[source[pair]] + row], order[first[target[pair]] + column]


def _edges(points: Points) -> Pairs:
    """Edges of points that are distinct, non-negative, and sorted by x, then y."""
    steps = points - points[0]
    if not _cross(steps, steps[-1]).any():  # collinear, or fewer than three
        return np.stack([np.arange(len(points) - 1), np.arange(1, len(points))], axis=1)
    if points.max() > _WIDEST_TRIANGULATED:
        return _edges_by_midpoints(points)
    sides = _sides(_triangles(points), points)
    if not _is_delaunay(sides, points):
        return _edges_by_midpoints(points)
    once = (sides.twin < 0) | (sides.start < sides.end)
    empty = (sides.dot >= 0) & ((sides.twin < 0) | (sides.dot[sides.twin] >= 0))
    edges = np.stack([sides.start, sides.end], axis=1)[once & empty]
    both = np.sort(np.concatenate([edges, _diameters(sides, points)]), axis=1)
    return np.stack(np.divmod(np.unique(both @ [len(points), 1]), len(points)), axis=1)


def _triangles(points: Points) -> Int[np.ndarray, "triangles 3"]:
    """Qhull's triangulation, computed in floats: must be checked. Empty when Qhull finds the points collinear."""
    from scipy.spatial import Delaunay, QhullError  # takes half a second, and most processes need no graph

    try:
        return Delaunay(points).simplices.astype(np.int64)
    except QhullError:
        return np.zeros((0, 3), np.int64)


def _sides(corners: Int[np.ndarray, "triangles 3"], points: Points) -> _Sides:
    apex, start, end = (np.roll(corners, -turn, axis=1).ravel() for turn in range(3))
    at_apex = points.take(apex, axis=0)  # several times faster than points[apex]
    to_start, to_end = points.take(start, axis=0) - at_apex, points.take(end, axis=0) - at_apex
    side = np.minimum(start, end) * len(points) + np.maximum(start, end)
    order = np.argsort(side)
    one, other = order[:-1], order[1:]
    same = side[one] == side[other]
    twin = np.full(len(side), -1)
    twin[one[same]], twin[other[same]] = other[same], one[same]
    area, dot = _cross(to_start, to_end), _dot(to_start, to_end)
    bend = np.where(twin < 0, 1, area * dot[twin] + area[twin] * dot)
    return _Sides(apex, start, end, to_start, to_end, area, dot, twin, bend)


def _is_delaunay(sides: _Sides, points: Points) -> bool:
    """Whether the triangles tile the convex hull, use every point, and are Delaunay at every shared side.

    They tile the hull when all have positive area, no side occurs twice, the outline lies on the hull, and the outline
    leaves its first point once.
    """
    outer = sides.twin < 0
    inner = np.flatnonzero(~outer)
    beyond = sides.twin[inner]
    start = points[sides.start[outer]]
    inward = (points[sides.end[outer]] - start)[:, ::-1] * np.array([-1, 1])
    tests = (
        sides.area > 0,
        np.bincount(sides.apex, minlength=len(points)) > 0,
        (sides.twin[beyond] == inner) & (sides.start[beyond] == sides.end[inner]),
        inward @ points.T >= _dot(inward, start)[:, None],
        np.count_nonzero(sides.start[outer] == 0) == 1,
        sides.bend >= 0,
    )
    return all(np.all(test) for test in tests)


def _diameters(sides: _Sides, points: Points) -> Pairs:
    """Pairs of a corner and the diametrically opposite point, for triangles with a shared circumcircle."""
    shared = np.flatnonzero((sides.bend == 0).reshape(-1, 3).any(axis=1).repeat(3))
    apex, to_start, to_end = sides.apex[shared], sides.to_start.take(shared, axis=0), sides.to_end.take(shared, axis=0)
    scaled = _dot(to_start, to_start)[:, None] * to_end - _dot(to_end, to_end)[:, None] * to_start
    across, remainder = np.divmod(scaled[:, ::-1] * np.array([1, -1]), sides.area[shared, None])
    facing, width = points.take(apex, axis=0) + across, points.max()
    possible = ~remainder.any(axis=1) & (facing >= 0).all(axis=1) & (facing <= width).all(axis=1)
    target, known = facing[possible] @ [width + 1, 1], points @ [width + 1, 1]
    index = np.searchsorted(known, target).clip(max=len(known) - 1)
    is_point = known[index] == target
    return np.stack([apex[possible][is_point], index[is_point]], axis=1)


def _edges_by_midpoints(points: Points) -> Pairs:
    """Edges in quadratic time: a pair is an edge when no other point is nearer to its midpoint."""
    from scipy.spatial import KDTree

    tree = KDTree(2 * points)
    edges: list[Pairs] = []
    for number, point in enumerate(points[:-1]):
        others = points[number + 1 :]
        middles = point + others
        to_nearest, apart = 2 * points[tree.query(middles)[1]] - middles, point - others
        empty = _dot(to_nearest, to_nearest) >= _dot(apart, apart)
        other = number + 1 + np.flatnonzero(empty)
        edges.append(np.stack([np.full_like(other, number), other], axis=1))
    return np.concatenate(edges)


def _cross(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]


def _dot(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    return one[..., 0] * other[..., 0] + one[..., 1] * other[..., 1]
