"""Pad windows into the tensors of a batch."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from layoutray.batching.examples import Example
from layoutray.batching.windows import GRID
from layoutray.errors import SchemaError
from layoutray.tensors import Batch

IGNORED = -100
"""Label of tokens that have no target."""


def collate(examples: Sequence[Example], pad_id: int) -> Batch:
    """Examples padded on the right to the longest of them.

    Raises:
        SchemaError: when a box is inverted or leaves 0..1000 (an embedding table would fail without saying where).
    """
    length = max(len(example.input_ids) for example in examples)
    ids = np.full((len(examples), length), pad_id, np.int64)
    boxes = np.zeros((len(examples), length, 4), np.int64)
    labels = np.full((len(examples), length), IGNORED, np.int64)
    for row, example in enumerate(examples):
        size = len(example.input_ids)
        ids[row, :size] = example.input_ids
        boxes[row, :size] = example.boxes
        if example.labels is not None:
            labels[row, :size] = example.labels
    _check_boxes(boxes)
    sizes = np.array([len(example.input_ids) for example in examples])
    labelled = any(example.labels is not None for example in examples)
    return Batch(
        torch.from_numpy(ids),
        torch.from_numpy(boxes),
        torch.from_numpy(np.arange(length) < sizes[:, None]),
        torch.from_numpy(labels) if labelled else None,
    )


def _check_boxes(boxes: NDArray[np.int64]) -> None:
    wrong = (boxes < 0) | (boxes > GRID)
    wrong[..., 2:] |= boxes[..., 2:] < boxes[..., :2]
    if wrong.any():
        row, token = np.argwhere(wrong.any(-1))[0]
        raise SchemaError(
            f"box {boxes[row, token].tolist()} of token {token} in example {row} of the batch must satisfy "
            f"0 <= x0 <= x1 <= {GRID} and 0 <= y0 <= y1 <= {GRID}; make the examples again with `layoutray encode`"
        )
