"""The graph of a page's words: which are neighbours, and so send each other messages in FormNet."""

import argparse
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from layoutray.batching.windows import grid_boxes
from layoutray.document import Page
from layoutray.document.word_graph import MAX_NEIGHBOURS, word_neighbours
from layoutray.report import png, word_graph
from layoutray.report.page_picture import page_picture
from pipelines import _terminal as terminal
from pipelines._pages import add_page_options, first_with_words, name_of


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray picture graph", description=__doc__)
    add_page_options(parser, "that has words")
    terminal.add_picture_option(parser, "graph.png")
    options = parser.parse_args(arguments)
    page = first_with_words(options)
    neighbours = word_neighbours(grid_boxes(page))
    picture = word_graph.draw(page_picture(page), page, neighbours, _caption(page, neighbours))
    return terminal.show_picture(png.png(picture), options.out)


def _caption(page: Page, neighbours: Int[np.ndarray, "words 8"]) -> list[str]:
    count = (neighbours >= 0).sum(axis=1)
    return [
        f"Graph of {len(count)} words: {len(word_graph.pairs(neighbours))} pairs of neighbours",
        name_of(page),
        f"{count.mean():.1f} neighbours a word; {np.count_nonzero(count == MAX_NEIGHBOURS)} words have {MAX_NEIGHBOURS}, the most",
    ]
