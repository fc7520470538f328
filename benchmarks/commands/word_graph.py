"""The word graph compared with libpysal's Gabriel graph and a plain Delaunay filter: time and wrong edges."""

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np

from benchmarks.measure.word_graph import (
    FILTER,
    LIBPYSAL,
    NEAREST,
    OURS,
    GraphComparison,
    compare_graphs,
    in_table,
    on_lines,
    scattered,
    throughput,
)
from layoutray.batching.windows import grid_boxes
from layoutray.cli.shared import terminal
from layoutray.document import Page
from layoutray.document.filters import Filters
from layoutray.document.word_graph import Points
from layoutray.errors import InputError
from layoutray.prepare.encode import vocabulary_for
from layoutray.recipe.recipes import TokenizerRecipe
from layoutray.store.data_set import DataSet

_RANDOM: dict[str, Callable[[int, np.random.Generator], Points]] = {
    "scattered": scattered,
    "on lines": on_lines,
    "in a table": in_table,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks word-graph", description=__doc__)
    parser.add_argument(
        "pages",
        nargs="?",
        help="also measure the pages of this folder that `layoutray ingest` has written, and the time to cut windows",
    )
    parser.add_argument(
        "--words", type=int, nargs="+", default=[64, 256, 512, 1024, 5000], help="words of each random page"
    )
    parser.add_argument("--rounds", type=int, default=9, help="random pages of each kind and size")
    parser.add_argument("--limit", type=int, default=200, help="maximum number of pages of the folder")
    parser.add_argument("--length", type=int, default=512, help="tokens per window")
    options = parser.parse_args(arguments)
    compiled = importlib.util.find_spec("numba") is not None
    terminal.say(f"libpysal runs {'with' if compiled else 'without'} numba")
    random = np.random.default_rng(0)
    comparisons = {
        f"{name}, {words}": compare_graphs([make(words, random) for _ in range(options.rounds)])
        for words in options.words
        for name, make in _RANDOM.items()
    }
    report: dict[str, object] = {"numba": compiled}
    if options.pages:
        pages = _pages(options.pages, options.limit)
        comparisons[f"real, {len(pages)} pages"] = compare_graphs([_centres(page) for page in pages])
        tokenizer = vocabulary_for(TokenizerRecipe(vocab_size=4000), [DataSet(options.pages)], Filters())
        speed = throughput(pages, tokenizer, options.length)
        report["windows"] = asdict(speed)
        terminal.say(
            f"windows of {len(pages)} pages: {speed.with_graph:.0f} pages/s per core, "
            f"{speed.without:.0f} without the graph"
        )
    _show(comparisons)
    report["graphs"] = {name: asdict(one) for name, one in comparisons.items()}
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


def _pages(folder: str, limit: int) -> list[Page]:
    pages = [page for page in DataSet(folder).read_pages() if len(page.words) > 2]
    if not pages:
        raise InputError(f"no page of {folder} has at least three words; take a folder of pages with words")
    return sorted(pages, key=lambda page: (page.doc_id, page.number))[:limit]


def _centres(page: Page) -> Points:
    boxes = grid_boxes(page)
    return boxes[:, :2] + boxes[:, 2:]


def _show(comparisons: dict[str, GraphComparison]) -> None:
    methods, peers = (OURS, NEAREST, LIBPYSAL, FILTER), (LIBPYSAL, FILTER)
    rows = [
        (
            name,
            one.words,
            *(f"{one.milliseconds[method]:.2f}" for method in methods),
            *(f"{100 * one.wrong[peer]:.2f} ({100 * one.pages_wrong[peer]:.0f})" for peer in peers),
        )
        for name, one in comparisons.items()
    ]
    columns = ("page", "words", *methods, *(f"{peer} wrong" for peer in peers))
    terminal.show_table(
        "Milliseconds per graph; percent of wrong edges of peers (percent of pages with wrong edges)", columns, rows
    )
