"""Examples as arrays, from blocks of EXAMPLES or from pages. The arrays of an example are views of its block."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from layoutray.batching.windows import Window, document_window, windows
from layoutray.document import Page
from layoutray.document.word_graph import MAX_NEIGHBOURS, FindNeighbours, word_neighbours
from layoutray.store.schema import EXAMPLES
from layoutray.tokenizer import Tokenizer

_OPEN_BLOCKS = 256
"""Blocks whose columns stay open. An open block takes about 5 KB, as its rows are mapped or shared."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    boxes: NDArray[np.integer[Any]]
    word_index: NDArray[np.int32]
    neighbours: NDArray[np.integer[Any]]
    page_size: tuple[int, int]
    labels: NDArray[np.int32] | None


def unlabelled(
    page: Page, vocabulary: Tokenizer, max_length: int, find_neighbours: FindNeighbours = word_neighbours
) -> list[Example]:
    """The windows of a page, in order and without labels; none for a page without words."""
    made = windows(page, vocabulary, max_length, find_neighbours)
    return [_unlabelled(page, number, window) for number, window in enumerate(made)]


def unlabelled_document(
    pages: Sequence[Page], vocabulary: Tokenizer, max_length: int, find_neighbours: FindNeighbours = word_neighbours
) -> tuple[Example | None, int]:
    """A document's first `max_length` tokens, without labels, and the number of all its tokens; None without words."""
    window, length = document_window(pages, vocabulary, max_length, find_neighbours)
    return window and _unlabelled(pages[0], 0, window), length


def _unlabelled(page: Page, number: int, window: Window) -> Example:
    return Example(
        doc_id=page.doc_id,
        page=page.number,
        window=number,
        input_ids=window.input_ids,
        boxes=window.boxes,
        word_index=window.word_index,
        neighbours=window.neighbours,
        page_size=(page.width, page.height),
        labels=None,
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


class Blocks(Protocol):
    """Examples in blocks of rows, such as `store.example_files.ExampleFiles`.

    Attributes:
        lengths: number of tokens of each example.
        starts: number of the first example of each block, and at the end the number of all examples.
    """

    @property
    def lengths(self) -> NDArray[np.integer[Any]]: ...
    @property
    def starts(self) -> NDArray[np.int64]: ...
    def read(self, numbers: Iterable[int]) -> Sequence[pa.RecordBatch]:
        """The blocks with these numbers, as EXAMPLES."""
        ...


class TableBlocks:
    """An EXAMPLES table in memory, as one block."""

    def __init__(self, table: pa.Table) -> None:
        self._batches = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], EXAMPLES)]
        self.lengths = np.diff(self._batches[0].column("input_ids").offsets.to_numpy())
        self.starts = np.array([0, table.num_rows])

    def read(self, numbers: Iterable[int]) -> list[pa.RecordBatch]:
        return [self._batches[number] for number in numbers]


class ExampleSet:
    """Random access to examples. Only the blocks of the examples that are asked for are read."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self.lengths, self.starts = blocks.lengths, blocks.starts
        self._open: OrderedDict[int, _Block] = OrderedDict()

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, rows: Sequence[int] | NDArray[np.integer[Any]]) -> list[Example]:
        """The examples `rows`, in this order. The blocks that are not open are read together."""
        numbers = np.searchsorted(self.starts, rows, side="right") - 1
        self._read(numbers.tolist())
        offsets = rows - self.starts[numbers]
        return [self._open[number].example(offset) for number, offset in zip(numbers, offsets, strict=True)]

    def __iter__(self) -> Iterator[Example]:
        for first, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            yield from self.take(np.arange(first, end))

    def _read(self, numbers: Iterable[int]) -> None:
        wanted = dict.fromkeys(numbers)
        missing = [number for number in wanted if number not in self._open]
        for number, batch in zip(missing, self._blocks.read(missing), strict=True):
            self._open[number] = _Block(batch)
        for number in wanted:
            self._open.move_to_end(number)
        while len(self._open) > max(_OPEN_BLOCKS, len(wanted)):
            self._open.popitem(last=False)


class _Block:
    """The columns of one block, as arrays."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._keys = [batch.column(name) for name in ("doc_id", "page", "window")]
        ids = batch.column("input_ids")
        self._offsets = ids.offsets.to_numpy()
        self._ids = ids.values.to_numpy()
        self._boxes = _rows(batch.column("boxes"), 4)
        self._words = batch.column("word_index").values.to_numpy()
        neighbours = batch.column("neighbours")
        self._word_offsets = neighbours.offsets.to_numpy()
        self._neighbours = _rows(neighbours, MAX_NEIGHBOURS)
        self._widths, self._heights = (batch.column(name).to_numpy() for name in ("page_width", "page_height"))
        labels = batch.column("labels")
        self._labels = labels.values.to_numpy() if labels.null_count == 0 else None
        self._label_offsets = labels.offsets.to_numpy()

    def example(self, index: int) -> Example:
        rows = slice(self._offsets[index], self._offsets[index + 1])
        words = slice(self._word_offsets[index], self._word_offsets[index + 1])
        labels = slice(self._label_offsets[index], self._label_offsets[index + 1])
        doc_id, page, window = (column[index].as_py() for column in self._keys)
        return Example(
            doc_id=doc_id,
            page=page,
            window=window,
            input_ids=self._ids[rows],
            boxes=self._boxes[rows],
            word_index=self._words[rows],
            neighbours=self._neighbours[words],
            page_size=(int(self._widths[index]), int(self._heights[index])),
            labels=None if self._labels is None else self._labels[labels],
        )


def _rows(column: pa.LargeListArray, width: int) -> NDArray[np.int16]:
    """The inner lists, of `width` numbers each, of a column of lists of lists. (`flatten` takes ten times as long.)"""
    inner = column.values
    return inner.values.to_numpy().reshape(-1, width)[inner.offset : inner.offset + len(inner)]
