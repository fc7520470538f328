"""Examples as arrays, from an EXAMPLES table or from pages.

The columns of a table are read once; the arrays of an example are views of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from layoutray.batching.windows import Window, document_window, windows
from layoutray.document import Page
from layoutray.document.word_graph import MAX_NEIGHBOURS
from layoutray.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Example:
    """One window of a page, or a whole document, which has the numbers of the first window of its first page.

    Attributes:
        boxes: x0 y0 x1 y1 of each token, 0..1000.
        word_index: index of each token's word in the page or document; -1 for special tokens.
        neighbours: 8 words for each word of the window, see `Window`.
        page_size: width and height in pixels, of the page or of the document's first page.
        labels: target of each token (-100 for tokens without one), or the tokens of the text to generate; None if the
            task makes its own targets.
    """

    doc_id: str
    page: int
    window: int
    input_ids: NDArray[np.int32]
    boxes: NDArray[np.int32]
    word_index: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    page_size: tuple[int, int]
    labels: NDArray[np.int32] | None


def unlabelled(page: Page, vocabulary: Tokenizer, max_length: int) -> list[Example]:
    """The windows of a page, in order and without labels; none for a page without words."""
    return [_unlabelled(page, number, window) for number, window in enumerate(windows(page, vocabulary, max_length))]


def unlabelled_document(pages: Sequence[Page], vocabulary: Tokenizer, max_length: int) -> tuple[Example | None, int]:
    """A document's first `max_length` tokens, without labels, and the number of all its tokens; None without words."""
    window, length = document_window(pages, vocabulary, max_length)
    return window and _unlabelled(pages[0], 0, window), length


def _unlabelled(page: Page, number: int, window: Window) -> Example:
    size = (page.width, page.height)
    return Example(
        page.doc_id,
        page.number,
        number,
        window.input_ids,
        window.boxes,
        window.word_index,
        window.neighbours,
        size,
        None,
    )


def row_of(page: Page, number: int, window: Window, labels: list[int] | None) -> dict[str, Any]:
    """The EXAMPLES row of window `number` of a page, or of a document whose first page is `page`."""
    return {
        "doc_id": page.doc_id,
        "page": page.number,
        "window": number,
        "split": page.split,
        "input_ids": window.input_ids,
        "boxes": window.boxes.tolist(),
        "word_index": window.word_index,
        "neighbours": window.neighbours.tolist(),
        "page_width": page.width,
        "page_height": page.height,
        "labels": labels,
    }


class ExampleSet:
    """Random access to the rows of an EXAMPLES table in memory; rows are not copied.

    Attributes:
        lengths: number of tokens of each example.
    """

    lengths: NDArray[np.int64]

    def __init__(self, table: pa.Table) -> None:
        table = table.combine_chunks()
        self._keys = [
            (row["doc_id"], row["page"], row["window"])
            for row in table.select(["doc_id", "page", "window"]).to_pylist()
        ]
        ids = _list_column(table, "input_ids")
        self._offsets = ids.offsets.to_numpy()
        self.lengths = np.diff(self._offsets)
        self._ids = ids.values.to_numpy()
        self._boxes = _rows(_list_column(table, "boxes"), 4)
        self._words = _list_column(table, "word_index").values.to_numpy()
        neighbours = _list_column(table, "neighbours")
        self._word_offsets = neighbours.offsets.to_numpy()
        self._neighbours = _rows(neighbours, MAX_NEIGHBOURS)
        self._sizes = list(zip(table["page_width"].to_pylist(), table["page_height"].to_pylist(), strict=True))
        labels = _list_column(table, "labels")
        self._labels = labels.values.to_numpy() if labels.null_count == 0 else None
        self._label_offsets = labels.offsets.to_numpy()

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, index: int) -> Example:
        rows = slice(self._offsets[index], self._offsets[index + 1])
        neighbours = self._neighbours[self._word_offsets[index] : self._word_offsets[index + 1]]
        labels = (
            None if self._labels is None else self._labels[self._label_offsets[index] : self._label_offsets[index + 1]]
        )
        return Example(
            *self._keys[index],
            self._ids[rows],
            self._boxes[rows],
            self._words[rows],
            neighbours,
            self._sizes[index],
            labels,
        )

    def __iter__(self) -> Iterator[Example]:
        return (self[index] for index in range(len(self)))


def _list_column(table: pa.Table, name: str) -> pa.LargeListArray:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _rows(column: pa.LargeListArray, width: int) -> NDArray[np.int32]:
    """The inner lists, of `width` numbers each, of a column of lists of lists."""
    return column.values.flatten().to_numpy().reshape(-1, width)[: len(column.values)]
