"""Pad examples into the tensors of a batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from layoutray.batching.examples import Example
from layoutray.batching.windows import within_window
from layoutray.errors import SchemaError
from layoutray.tensors import BOX_GRID, Batch

IGNORED = -100
"""Label of tokens without a target."""


def collate(examples: Sequence[Example], pad_id: int) -> Batch:
    """Examples padded on the right to the longest of them, and their word graphs to the largest of them.

    Raises:
        SchemaError: when a box is inverted or leaves 0..1000, a word graph does not fit its window's words, or a page
            has no area. Without these checks, an embedding table, a gather or a division fails and names no cause.
    """
    sizes = np.array([len(example.input_ids) for example in examples])
    boxes = _padded([example.boxes for example in examples], 0)
    word_index = [within_window(example.word_index) for example in examples]
    _check(examples, boxes, word_index)
    labels = [
        example.labels if example.labels is not None else np.full(size, IGNORED)
        for example, size in zip(examples, sizes, strict=True)
    ]
    labelled = any(example.labels is not None for example in examples)
    return Batch(
        input_ids=torch.from_numpy(_padded([example.input_ids for example in examples], pad_id)),
        boxes=torch.from_numpy(boxes),
        mask=torch.from_numpy(np.arange(sizes.max()) < sizes[:, None]),
        labels=torch.from_numpy(_padded(labels, IGNORED)) if labelled else None,
        word_index=torch.from_numpy(_padded(word_index, -1)),
        neighbours=torch.from_numpy(_padded([example.neighbours for example in examples], -1)),
        page_sizes=torch.from_numpy(np.array([example.page_size for example in examples], np.int64)),
    )


def _padded(rows: Sequence[NDArray[Any]], fill: int) -> NDArray[np.int64]:
    """Rows of different lengths as one array; shorter rows end in `fill`."""
    array = np.full((len(rows), max(map(len, rows)), *rows[0].shape[1:]), fill, np.int64)
    for row, values in zip(array, rows, strict=True):
        row[: len(values)] = values
    return array


def _check(
    examples: Sequence[Example], boxes: NDArray[np.int64], word_index: Sequence[NDArray[np.integer[Any]]]
) -> None:
    wrong = (boxes < 0) | (boxes > BOX_GRID)
    wrong[..., 2:] |= boxes[..., 2:] < boxes[..., :2]
    if wrong.any():
        row, token = np.argwhere(wrong.any(-1))[0]
        raise SchemaError(
            f"box {boxes[row, token].tolist()} of token {token} in example {row} of the batch must satisfy "
            f"0 <= x0 <= x1 <= {BOX_GRID} and 0 <= y0 <= y1 <= {BOX_GRID}; "
            "make the examples again with `layoutray encode`"
        )
    for row, (example, index) in enumerate(zip(examples, word_index, strict=True)):
        words, neighbours = int(index.max(initial=-1)) + 1, example.neighbours
        least, largest = neighbours.min(initial=-1), neighbours.max(initial=-1)
        if len(neighbours) != words or least < -1 or largest >= words:
            raise SchemaError(
                f"example {row} of the batch has {words} words and {len(neighbours)} lists of neighbours with numbers "
                f"from {least} to {largest}; it must have a list for each word, "
                f"with numbers of at least -1 and below {words}; make the examples again with `layoutray encode`"
            )
        width, height = example.page_size
        if width < 1 or height < 1:
            raise SchemaError(
                f"the page of example {row} of the batch is {width} x {height} pixels; both must be at least 1; "
                "make the pages again with `layoutray ingest`, then the examples with `layoutray encode`"
            )
