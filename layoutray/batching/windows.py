"""Cut the words of a page into windows of tokens: with overflow, without stride, nothing dropped. Or join those of a whole document.

The scheme of the Skim-Attention release (§1.3 of its data pipeline): a page becomes as many windows as it needs; every
sub-token carries its word's box; special tokens carry zeros; a word cut by a window's border goes on in the next one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from layoutray.document import Page
from layoutray.document.word_graph import word_neighbours
from layoutray.tensors import BOX_GRID
from layoutray.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Window:
    """One model input.

    Attributes:
        input_ids: start token, pieces, end token; at most the maximum length, unpadded.
        boxes: a row of x0 y0 x1 y1 in 0..1000 per token.
        word_index: word of the page, or of the document, that each token came from, -1 for special tokens.
        neighbours: a row of at most 8 per word of the window, in order: its nearest neighbours in the graph of the window's words
            (`document.word_graph`) on its page, counted from 0 in the window; -1 where there are fewer.
    """

    input_ids: NDArray[np.int32]
    boxes: NDArray[np.int32]
    word_index: NDArray[np.int32]
    neighbours: NDArray[np.int32]


def quantise(boxes: Float[np.ndarray, "words 4"]) -> Int[np.ndarray, "words 4"]:
    """Boxes in shares of the page to the integer grid 0..1000, rounded to nearest; order of sides is kept."""
    return np.clip(np.rint(np.asarray(boxes, np.float64) * BOX_GRID), 0, BOX_GRID).astype(np.int32)


def grid_boxes(page: Page) -> Int[np.ndarray, "words 4"]:
    """The boxes of a page's words on the grid."""
    return quantise(
        np.array([(word.box.x0, word.box.y0, word.box.x1, word.box.y1) for word in page.words]).reshape(-1, 4)
    )


def cut(words: list[str], boxes: Int[np.ndarray, "words 4"], tokenizer: Tokenizer, max_length: int) -> list[Window]:
    """Windows of at most `max_length` tokens that together hold every piece of every word, in order.

    A page without words gives no window.
    """
    ids, origin = _pieces(words, tokenizer)
    room = max_length - 2
    parts = [(ids[at : at + room], origin[at : at + room]) for at in range(0, len(ids), room)]
    return [_window(*part, boxes, word_neighbours(boxes[np.unique(part[1])]), tokenizer) for part in parts]


def windows(page: Page, vocabulary: Tokenizer, max_length: int) -> list[Window]:
    """The model inputs of a page, in order; none for a page without words."""
    return cut([word.text for word in page.words], grid_boxes(page), vocabulary, max_length)


def document_window(pages: Sequence[Page], vocabulary: Tokenizer, max_length: int) -> tuple[Window | None, int]:
    """A document's pages, in order, as one model input of at most `max_length` tokens; and how many all of it would take.

    Words are counted through the document, while boxes and neighbours are those of each page. None for a document without words.
    """
    ids, origin = _pieces([word.text for page in pages for word in page.words], vocabulary)
    kept = slice(max_length - 2)
    if not len(ids):
        return None, 0
    boxes = np.concatenate([grid_boxes(page) for page in pages])[: origin[kept][-1] + 1]
    starts = accumulate((len(page.words) for page in pages), initial=0)
    graphs = [(start, word_neighbours(boxes[start:end])) for start, end in pairwise(starts) if start < len(boxes)]
    neighbours = np.concatenate([np.where(graph >= 0, graph + start, -1) for start, graph in graphs])
    return _window(ids[kept], origin[kept], boxes, neighbours, vocabulary), len(ids) + 2


def _pieces(words: list[str], tokenizer: Tokenizer) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Ids of the pieces of all words, and the number of the word of each."""
    pieces = tokenizer.words_to_ids(words)
    ids = np.fromiter((piece for word in pieces for piece in word), np.int32)
    return ids, np.repeat(np.arange(len(words), dtype=np.int32), [len(word) for word in pieces])


def _window(
    ids: NDArray[np.int32],
    origin: NDArray[np.int32],
    boxes: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    tokenizer: Tokenizer,
) -> Window:
    nowhere = np.zeros((1, 4), np.int32)
    return Window(
        np.concatenate(([tokenizer.start_id], ids, [tokenizer.end_id])).astype(np.int32),
        np.concatenate((nowhere, boxes[origin], nowhere)).astype(np.int32),
        np.concatenate(([-1], origin, [-1])).astype(np.int32),
        neighbours,
    )


def first_pieces(word_index: NDArray[np.int32]) -> NDArray[np.bool_]:
    """True on the first token of each word within a window: where labels stand and predictions are read.

    A word that a border has cut is first again in the next window, as in the release.
    """
    before = np.concatenate(([-1], word_index[:-1]))
    return (word_index >= 0) & (word_index != before)


def within_window(word_index: NDArray[np.int32]) -> NDArray[np.int64]:
    """For each token the number of its word among those of the window, from 0; -1 for special tokens."""
    return np.where(word_index >= 0, np.cumsum(first_pieces(word_index)) - 1, -1)
