"""`layoutray picture graph`: the graph of a page's words, along whose edges FormNet passes messages."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from layoutray.batching.windows import grid_boxes
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.page_choice import PageChoice, add_page_options, caption_name
from layoutray.document import Page
from layoutray.document.word_graph import MAX_NEIGHBOURS, word_neighbours
from layoutray.report import png, word_graph
from layoutray.report.page_picture import page_picture


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("picture graph")
    add_page_options(parser, "with a picture and words")
    options.add_picture_file(parser, "graph.png")
    chosen = options.parse(parser, arguments, PageChoice)
    page = chosen.first_with_words()
    neighbours = word_neighbours(grid_boxes(page))
    picture = word_graph.draw(page_picture(page), page, neighbours, _caption(page, neighbours))
    return terminal.show_picture(png.png(picture), chosen.out)


def _caption(page: Page, neighbours: Int[np.ndarray, "words 8"]) -> list[str]:
    count = (neighbours >= 0).sum(axis=1)
    full = np.count_nonzero(count == MAX_NEIGHBOURS)
    return [
        f"Graph of {len(count)} words: {len(word_graph.pairs(neighbours))} edges",
        caption_name(page),
        f"{count.mean():.1f} neighbours per word; {full} words have {MAX_NEIGHBOURS}, the maximum",
    ]
