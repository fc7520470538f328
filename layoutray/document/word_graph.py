"""Which words of a page are neighbours: the Gabriel graph of their centres, the β-skeleton with β = 1 of FormNet (arXiv:2203.08411).

Two points are neighbours unless a third lies strictly inside the disk that has them as diameter (the open disk of Kirkpatrick
and Radke, 1985). Such a graph is connected whatever the points are, and has both diagonals of a square. Coordinates are
integers, and nothing that decides is rounded.

A Delaunay triangulation (no point strictly inside the circle through a triangle's corners) is enough, however it breaks ties:

- A point strictly inside an edge's disk sees the edge under more than 90°. If the corner on its side did not, the point would be
  strictly inside the circle of that corner's triangle. So the one or two opposite corners decide on an edge.
- Neighbours that are no edge are a diagonal of points on one empty circle. On either side of it lies such a point, outside the
  disk only if the diagonal is the circle's diameter. So where adjacent triangles have one circle, the points that face their
  corners across it complete the graph.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from numpy.typing import NDArray
from scipy.spatial import Delaunay, KDTree, QhullError

from layoutray.errors import InputError

MOST_NEIGHBOURS = 8
"""Of one word, as in FormNet."""

_WIDEST = 2**25
"""Up to here squared doubled distances are integers below 2⁵³, which the k-d tree's floats compare exactly."""
_WIDEST_TRIANGULATED = 2**15
"""Up to here the test of two adjacent triangles, at most 4·width⁴, is below 2⁶³."""

Points = Int[np.ndarray, "points 2"]
Pairs = Int[np.ndarray, "pairs 2"]


class _Sides(NamedTuple):
    """The three sides of each triangle, as seen from the corner `apex` that faces them; triangles lie to the left of start → end.

    Attributes:
        to_start, to_end: from the apex.
        area: twice the triangle's.
        dot: of `to_start` and `to_end`; negative when the apex is strictly inside the side's disk.
        twin: number of the same side in the triangle beyond; -1 where there is none.
        bend: has the sign of the sine of both angles that face the side, together: negative where the two triangles are not
            Delaunay, 0 where their corners are on one circle; 1 where there is no triangle beyond.
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
    """The nearest neighbours of each word, by distance of centres: numbers of words, the nearest first, -1 where there are fewer.

    Of equally near ones the first words count. A word can be in the list of another that is not in its own.

    Args:
        boxes: x0 y0 x1 y1, integers; boxes without area will do. In thousandths of the page, as models see them, the disk of a pair is
            an ellipse on paper that is not square.
    """
    doubled_centres = boxes[:, :2] + boxes[:, 2:]
    word, neighbour = _neighbours(doubled_centres, MOST_NEIGHBOURS)
    rank = np.arange(len(word)) - np.searchsorted(word, word)
    found = np.full((len(boxes), MOST_NEIGHBOURS), -1, np.int32)
    near = rank < MOST_NEIGHBOURS
    found[word[near], rank[near]] = neighbour[near]
    return found


def gabriel_edges(points: Points) -> Pairs:
    """All pairs of neighbours in order, the smaller number first. Points in one place are neighbours of each other.

    Raises:
        InputError: when points are so far apart (above 2²⁵) that the answer might not be exact.
    """
    point, neighbour = _neighbours(points, len(points))
    edges = np.stack([point, neighbour], axis=1)[point < neighbour]
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def _neighbours(points: Points, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Points with their neighbours, by point, then distance, then neighbour; of those in one place the first `most` are enough."""
    if not len(points):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    shifted = points.astype(np.int64, casting="same_kind") - points.min(axis=0)
    width = int(shifted.max())
    if width > _WIDEST:
        raise InputError(f"points span {width}; distances are exact up to {_WIDEST}: use a coarser unit")
    places, place_of = np.unique(shifted @ [width + 1, 1], return_inverse=True)
    edges = _edges(np.stack(np.divmod(places, width + 1), axis=1))
    loops = np.repeat(np.arange(len(places)), 2).reshape(-1, 2)
    # One more than `most`, for the point itself is among those in its place.
    point, neighbour = _members(place_of, np.concatenate([edges, edges[:, ::-1], loops]), most + 1)
    apart = shifted.take(point, axis=0) - shifted.take(neighbour, axis=0)
    distance = _dot(apart, apart)
    order = np.lexsort((neighbour, distance, point))
    order = order[point[order] != neighbour[order]]
    return point[order], neighbour[order]


def _members(place_of: NDArray[np.int64], ways: Pairs, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """From pairs of places to pairs of points: all that are in the first place with the first `most` in the second."""
    order, size = np.argsort(place_of, kind="stable"), np.bincount(place_of)
    first = np.cumsum(size) - size
    source, target = ways.T
    seen = np.minimum(size, most)[target]
    count = size[source] * seen
    way = np.repeat(np.arange(len(ways)), count)
    row, column = np.divmod(np.arange(len(way)) - np.repeat(np.cumsum(count) - count, count), seen[way])
    return order[first[source[way]] + row], order[first[target[way]] + column]


def _edges(points: Points) -> Pairs:
    """Of points that are distinct, not negative and ordered by x, then y."""
    steps = points - points[0]
    if not _cross(steps, steps[-1]).any():  # all on one line, or fewer than three
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
    """As Qhull finds them, in floats: to be checked. None when the points look like one line to it."""
    try:
        return Delaunay(points).simplices.astype(np.int64)
    except QhullError:
        return np.zeros((0, 3), np.int64)


def _sides(corners: Int[np.ndarray, "triangles 3"], points: Points) -> _Sides:
    apex, start, end = (np.roll(corners, -turn, axis=1).ravel() for turn in range(3))
    at_apex = points.take(apex, axis=0)  # several times as fast as points[apex]
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
    """Whether the triangles tile the convex hull, have every point as a corner, and are Delaunay wherever two of them meet.

    They tile it when all have an area and no side occurs twice, the outline is on the hull, and it leaves its first point once.
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
    """Corners, each with the point that faces it across the circle of its triangle, if the triangle shares that circle with another."""
    shared = np.flatnonzero((sides.bend == 0).reshape(-1, 3).any(axis=1).repeat(3))
    apex, to_start, to_end = sides.apex[shared], sides.to_start.take(shared, axis=0), sides.to_end.take(shared, axis=0)
    scaled = _dot(to_start, to_start)[:, None] * to_end - _dot(to_end, to_end)[:, None] * to_start
    across, remainder = np.divmod(scaled[:, ::-1] * np.array([1, -1]), sides.area[shared, None])
    facing, width = points.take(apex, axis=0) + across, points.max()
    possible = ~remainder.any(axis=1) & (facing >= 0).all(axis=1) & (facing <= width).all(axis=1)
    wanted, known = facing[possible] @ [width + 1, 1], points @ [width + 1, 1]
    at = np.searchsorted(known, wanted).clip(max=len(known) - 1)
    found = known[at] == wanted
    return np.stack([apex[possible][found], at[found]], axis=1)


def _edges_by_midpoints(points: Points) -> Pairs:
    """For any points, in quadratic time: a pair is an edge when no point is nearer to its middle than itself."""
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
