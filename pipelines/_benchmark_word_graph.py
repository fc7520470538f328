"""The graph of a page's words beside libpysal's Gabriel graph and a plain Delaunay filter: time, and edges that these get wrong."""

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np

from layoutray.batching.windows import grid_boxes
from layoutray.bench.word_graph import (
    FILTER,
    LIBPYSAL,
    NEAREST,
    OURS,
    Measured,
    in_table,
    measure,
    on_lines,
    scattered,
    throughput,
)
from layoutray.cli import terminal
from layoutray.document import Page
from layoutray.document.filters import Filters
from layoutray.document.word_graph import Points
from layoutray.errors import InputError
from layoutray.prepare.encode import vocabulary_for
from layoutray.recipe import TokenizerRecipe
from layoutray.store import codec, shards, sources
from layoutray.store.schema import PAGES

_MADE_UP: dict[str, Callable[[int, np.random.Generator], Points]] = {
    "scattered": scattered,
    "on lines": on_lines,
    "in a table": in_table,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark word-graph", description=__doc__)
    parser.add_argument(
        "pages",
        nargs="?",
        help="folder that `layoutray ingest` has written: also its pages, and what windows of them cost",
    )
    parser.add_argument("--words", type=int, nargs="+", default=[64, 256, 512, 1024, 5000], help="on each made-up page")
    parser.add_argument("--rounds", type=int, default=9, help="pages of each kind that are made up")
    parser.add_argument("--limit", type=int, default=200, help="at most so many pages of the folder")
    parser.add_argument("--length", type=int, default=512, help="tokens per window")
    options = parser.parse_args(arguments)
    compiled = importlib.util.find_spec("numba") is not None
    terminal.say(f"libpysal runs {'with' if compiled else 'without'} numba")
    random = np.random.default_rng(0)
    found = {
        f"{name}, {words}": measure([make(words, random) for _ in range(options.rounds)])
        for words in options.words
        for name, make in _MADE_UP.items()
    }
    report: dict[str, object] = {"numba": compiled}
    if options.pages:
        pages = _pages(options.pages, options.limit)
        found[f"real, {len(pages)} pages"] = measure([_centres(page) for page in pages])
        vocabulary = vocabulary_for(TokenizerRecipe(vocab_size=4000), [sources.join(options.pages, "pages")], Filters())
        speed = throughput(pages, vocabulary, options.length)
        report["windows"] = asdict(speed)
        terminal.say(
            f"windows of {len(pages)} pages: {speed.with_graph:.0f} pages/s a core, {speed.without:.0f} without the graph"
        )
    _show(found)
    report["graphs"] = {name: asdict(one) for name, one in found.items()}
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


def _pages(folder: str, limit: int) -> list[Page]:
    found = [page for page in codec.pages_of(shards.read(sources.join(folder, "pages"), PAGES)) if len(page.words) > 2]
    if not found:
        raise InputError(f"no page of {folder} has three words; take a folder of pages with words")
    return sorted(found, key=lambda page: (page.doc_id, page.number))[:limit]


def _centres(page: Page) -> Points:
    boxes = grid_boxes(page)
    return boxes[:, :2] + boxes[:, 2:]


def _show(found: dict[str, Measured]) -> None:
    contenders, peers = (OURS, NEAREST, LIBPYSAL, FILTER), (LIBPYSAL, FILTER)
    rows = [
        (
            name,
            one.words,
            *(f"{one.milliseconds[contender]:.2f}" for contender in contenders),
            *(f"{100 * one.wrong[peer]:.2f} ({100 * one.pages_wrong[peer]:.0f})" for peer in peers),
        )
        for name, one in found.items()
    ]
    columns = ("page", "words", *contenders, *(f"{peer} wrong" for peer in peers))
    terminal.show_table(
        "Milliseconds a graph; percent of edges that peers get wrong (of pages with any)", columns, rows
    )


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
