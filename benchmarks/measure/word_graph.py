"""Our exact word graph, compared with libpysal's Gabriel graph and a plain filter of SciPy's Delaunay edges.

Times are processor times, so that other work on the machine is not measured. libpysal compiles its filter with numba if
numba is installed.
"""

import importlib
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import Delaunay, QhullError

from benchmarks.measure.gabriel import gabriel_edges
from layoutray.batching.windows import first_pieces, windows
from layoutray.document import Page
from layoutray.document.word_graph import Pairs, Points, word_neighbours
from layoutray.errors import MissingDependencyError
from layoutray.tensors import BOX_GRID
from layoutray.tokenizer import Tokenizer

OURS = "ours"
NEAREST = "lists of 8"
LIBPYSAL = "libpysal"
FILTER = "SciPy"

_PER_LINE = 15
_WORD_WIDTH = (10, 55)
_GAP = 8
_WORD_HEIGHT = 10


@dataclass(frozen=True, slots=True)
class GraphComparison:
    """Results for one kind of layout.

    Attributes:
        words: median number of words of a page.
        milliseconds: of one graph by method, median over pages.
        wrong: for each peer its missing and extra edges, as a share of the true edges; where a peer fails because all
            points are on one line, all edges are missing.
        pages_wrong: for each peer the share of pages with such edges.
    """

    words: int
    milliseconds: Mapping[str, float]
    wrong: Mapping[str, float]
    pages_wrong: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Throughput:
    """Pages per second and core that are cut into windows, with and without their graphs."""

    with_graph: float
    without: float


def scattered(words: int, random: np.random.Generator) -> Points:
    """Doubled centres of words at random positions: (words, 2)."""
    return random.integers(0, 2 * BOX_GRID + 1, (words, 2))


def on_lines(words: int, random: np.random.Generator) -> Points:
    """Doubled centres of words of equal height on evenly spaced lines, as on a printed form: (words, 2)."""
    lines = -(-words // _PER_LINE)
    widths = random.integers(*_WORD_WIDTH, (lines, _PER_LINE))
    left = np.cumsum(widths + _GAP, axis=1) - widths
    top = np.arange(lines)[:, None] * max((BOX_GRID - _WORD_HEIGHT) // lines, 1)
    centres = np.stack(np.broadcast_arrays(2 * left + widths, 2 * top + _WORD_HEIGHT), axis=-1)
    return centres.reshape(-1, 2)[:words]


def in_table(words: int, random: np.random.Generator) -> Points:
    """Doubled centres of the cells of a regular table, where four neighbouring cells are on one circle: (words, 2)."""
    columns = round(words**0.5)
    width, height = random.integers(1, 2 * BOX_GRID // (columns + 2), 2)
    return np.stack(np.divmod(np.arange(words), columns), axis=1) * np.array([width, height])


def compare_graphs(pages: Iterable[Points]) -> GraphComparison:
    """Run all methods on each page, after one warm-up call of each.

    Raises:
        MissingDependencyError: when libpysal is not installed.
    """
    methods = {OURS: gabriel_edges, NEAREST: _nearest, LIBPYSAL: _libpysal(), FILTER: _delaunay_filter}
    for build in methods.values():
        build(scattered(64, np.random.default_rng(0)))
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    wrong: dict[str, list[int]] = {LIBPYSAL: [], FILTER: []}
    words: list[int] = []
    edges = 0
    for points in pages:
        graphs = {name: _timed(build, points, seconds[name]) for name, build in methods.items()}
        true = _as_set(graphs[OURS])
        words.append(len(points))
        edges += len(true)
        for name, differing in wrong.items():
            differing.append(len(true ^ _as_set(graphs[name])))
    return GraphComparison(
        int(statistics.median(words)),
        {name: 1000 * statistics.median(each) for name, each in seconds.items()},
        {name: sum(each) / edges for name, each in wrong.items()},
        {name: sum(map(bool, each)) / len(each) for name, each in wrong.items()},
    )


def throughput(pages: Sequence[Page], tokenizer: Tokenizer, max_length: int) -> Throughput:
    """Time the cutting of windows with graphs; the time without graphs subtracts that of building the graphs again."""
    started = time.process_time()
    cut = [window for page in pages for window in windows(page, tokenizer, max_length)]
    whole = time.process_time() - started
    boxes = [window.boxes[first_pieces(window.word_index)] for window in cut]
    started = time.process_time()
    for window in boxes:
        word_neighbours(window)
    graphs = time.process_time() - started
    return Throughput(len(pages) / whole, len(pages) / (whole - graphs))


def _timed(build: Callable[[Points], Pairs], points: Points, seconds: list[float]) -> Pairs:
    """The edges that `build` returns, none where it fails; appends its time to `seconds`."""
    started = time.process_time()
    try:
        edges = build(points)
    except QhullError:
        edges = np.zeros((0, 2), np.int64)
    seconds.append(time.process_time() - started)
    return edges


def _nearest(points: Points) -> Pairs:
    return word_neighbours(np.concatenate([points, points], axis=1))


def _libpysal() -> Callable[[Points], Pairs]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = importlib.import_module("libpysal.graph").Graph
    except ModuleNotFoundError as error:
        raise MissingDependencyError("libpysal is not installed; run `pip install libpysal` or `make setup`") from error

    def build(points: Points) -> Pairs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without numba, each call warns that it is slow
            built = graph.build_triangulation(points.astype(float), method="gabriel", kernel=None, coplanar="clique")
        index = built.adjacency.index
        return np.stack([index.get_level_values(level).to_numpy() for level in (0, 1)], axis=1)

    return build


def _delaunay_filter(points: Points) -> Pairs:
    """The textbook method in floating point: Delaunay edges without an opposite corner strictly inside their disk."""
    triangles = Delaunay(points).simplices.astype(np.int64)
    sides = np.concatenate([triangles[:, [0, 1, 2]], triangles[:, [1, 2, 0]], triangles[:, [2, 0, 1]]])
    start, end, facing = sides.T
    middle = (points[start] + points[end]) / 2
    radius = np.linalg.norm(points[start] - points[end], axis=1) / 2
    blocked = np.linalg.norm(points[facing] - middle, axis=1) < radius
    edge = np.minimum(start, end) * len(points) + np.maximum(start, end)
    return np.stack(np.divmod(np.setdiff1d(edge, edge[blocked]), len(points)), axis=1)


def _as_set(pairs: Pairs) -> set[tuple[int, int]]:
    return {(one, other) for one, other in pairs.tolist() if one < other}
