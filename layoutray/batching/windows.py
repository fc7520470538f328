"""Cut the words of a page into windows of tokens, or join the words of a document into one model input.

The scheme of the Skim-Attention release (§1.3 of its data pipeline): a page becomes as many windows as it needs,
without overlap, and no token is dropped. Each token has the box of its word, and special tokens have zeros. A word that
a window's border cuts continues in the next window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from layoutray.document import Page
from layoutray.document.word_graph import FindNeighbours, word_neighbours
from layoutray.tensors import BOX_GRID
from layoutray.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Window:
    """One model input.

    Attributes:
        input_ids: start token, tokens of words, end token; not padded.
        boxes: x0 y0 x1 y1 of each token, 0..1000.
        word_index: index of each token's word in the page or document; -1 for special tokens.
        neighbours: for each word of the window, in order, its 8 nearest neighbours in the graph of the window's words
            on its page (`document.word_graph`), as indices of words of the window; -1 in place of missing neighbours.
    """

    input_ids: NDArray[np.int32]
    boxes: NDArray[np.int32]
    word_index: NDArray[np.int32]
    neighbours: NDArray[np.int32]


def quantise(boxes: Float[np.ndarray, "words 4"]) -> Int[np.ndarray, "words 4"]:
    """Relative boxes as integers 0..BOX_GRID, rounded to nearest."""
    return np.clip(np.rint(np.asarray(boxes, np.float64) * BOX_GRID), 0, BOX_GRID).astype(np.int32)


def grid_boxes(page: Page) -> Int[np.ndarray, "words 4"]:
    """The boxes of a page's words on the grid."""
    return quantise(
        np.array([(word.box.x0, word.box.y0, word.box.x1, word.box.y1) for word in page.words]).reshape(-1, 4)
    )


def cut(
    words: list[str],
    boxes: Int[np.ndarray, "words 4"],
    tokenizer: Tokenizer,
    max_length: int,
    find_neighbours: FindNeighbours = word_neighbours,
) -> list[Window]:
    """Windows of at most `max_length` tokens with every token of every word, in order; none without words."""
    ids, origin = _tokens(words, tokenizer)
    step = max_length - 2  # the start and the end token
    parts = [(ids[at : at + step], origin[at : at + step]) for at in range(0, len(ids), step)]
    return [_window(*part, boxes, find_neighbours(boxes[np.unique(part[1])]), tokenizer) for part in parts]


def windows(
    page: Page, vocabulary: Tokenizer, max_length: int, find_neighbours: FindNeighbours = word_neighbours
) -> list[Window]:
    """The windows of a page, in order; none for a page without words."""
    return cut([word.text for word in page.words], grid_boxes(page), vocabulary, max_length, find_neighbours)


def document_window(
    pages: Sequence[Page], vocabulary: Tokenizer, max_length: int, find_neighbours: FindNeighbours = word_neighbours
) -> tuple[Window | None, int]:
    """The first `max_length` tokens of a document as one model input, and the number of all its tokens.

    The input is None for a document without words. Words are numbered through the document. Boxes are relative to the
    word's page, and neighbours are words of the same page.

    Args:
        pages: of the document, in order.
    """
    ids, origin = _tokens([word.text for page in pages for word in page.words], vocabulary)
    kept = slice(max_length - 2)
    if not len(ids):
        return None, 0
    boxes = np.concatenate([grid_boxes(page) for page in pages])[: origin[kept][-1] + 1]
    starts = accumulate((len(page.words) for page in pages), initial=0)
    graphs = [(start, find_neighbours(boxes[start:end])) for start, end in pairwise(starts) if start < len(boxes)]
    neighbours = np.concatenate([np.where(graph >= 0, graph + start, -1) for start, graph in graphs])
    return _window(ids[kept], origin[kept], boxes, neighbours, vocabulary), len(ids) + 2


def _tokens(words: list[str], tokenizer: Tokenizer) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Ids of the tokens of all words, and the index of each token's word."""
    tokens = tokenizer.words_to_ids(words)
    ids = np.fromiter((token for word in tokens for token in word), np.int32)
    return ids, np.repeat(np.arange(len(words), dtype=np.int32), [len(word) for word in tokens])


def _window(
    ids: NDArray[np.int32],
    origin: NDArray[np.int32],
    boxes: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    tokenizer: Tokenizer,
) -> Window:
    no_box = np.zeros((1, 4), np.int32)
    return Window(
        np.concatenate(([tokenizer.start_id], ids, [tokenizer.end_id])).astype(np.int32),
        np.concatenate((no_box, boxes[origin], no_box)).astype(np.int32),
        np.concatenate(([-1], origin, [-1])).astype(np.int32),
        neighbours,
    )


def first_pieces(word_index: NDArray[np.int32]) -> NDArray[np.bool_]:
    """True on the first token of each word in a window: labels and predictions belong to these tokens.

    As in the release, a word cut by a window's border has a first token in the next window too.
    """
    before = np.concatenate(([-1], word_index[:-1]))
    return (word_index >= 0) & (word_index != before)


def within_window(word_index: NDArray[np.int32]) -> NDArray[np.int64]:
    """The index of each token's word among the words of the window; -1 for special tokens."""
    return np.where(word_index >= 0, np.cumsum(first_pieces(word_index)) - 1, -1)
