"""Pad the windows of a batch to a length that suits a GPU, or note where its real tokens are.

With the latter, an encoder need not compute padding.
"""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from layoutray.batching.collate import IGNORED
from layoutray.tensors import Batch, Packing, Places


def padded_length(length: int, multiple: int, longest: int) -> int:
    """The next multiple of `multiple`, but not beyond `longest`, as the model may not take more."""
    return max(length, min(-(-length // multiple) * multiple, longest))


def lengthen(batch: Batch, length: int, pad_id: int) -> Batch:
    """`batch` with its windows padded to `length` tokens; labels that are a text keep their length."""
    more = length - batch.input_ids.shape[1]
    labels, words = batch.labels, batch.word_index
    if labels is not None and labels.shape == batch.mask.shape:
        labels = _padded(labels, more, IGNORED)
    return replace(
        batch,
        input_ids=_padded(batch.input_ids, more, pad_id),
        boxes=_padded(batch.boxes, more, 0),
        mask=_padded(batch.mask, more, 0),
        labels=labels,
        word_index=None if words is None else _padded(words, more, -1),
    )


def _padded(rows: Tensor, more: int, value: int) -> Tensor:
    """(batch, length, …) with `more` tokens of `value` on the right."""
    return functional.pad(rows, (0, 0) * (rows.ndim - 2) + (0, more), value=value)


def pack(batch: Batch) -> Batch:
    """`batch` with its packing. A batch whose labels are not of its tokens, but a text, stays as it is."""
    if batch.labels is None or batch.labels.shape != batch.mask.shape:
        return batch
    tokens, wanted = Places.of(batch.mask), (batch.labels != IGNORED) & batch.mask
    index = tokens.pack(wanted)[0].nonzero().squeeze(1)
    counts = wanted.sum(1)  # the targets, as windows without other tokens between them
    targets = Places.of(torch.arange(int(counts.max()), device=counts.device) < counts[:, None])
    return replace(batch, packing=Packing(tokens, targets, index))
