"""Note in a batch where its real tokens and its targets are, so that an encoder need not compute padding."""

from dataclasses import replace

import torch

from layoutray.batching.collate import IGNORED
from layoutray.tensors import Batch, Packing, Places


def pack(batch: Batch) -> Batch:
    """`batch` with its packing. A batch whose labels are not of its tokens, but a text, stays as it is."""
    if batch.labels is None or batch.labels.shape != batch.mask.shape:
        return batch
    tokens, wanted = Places.of(batch.mask), (batch.labels != IGNORED) & batch.mask
    index = tokens.pack(wanted)[0].nonzero().squeeze(1)
    counts = wanted.sum(1)  # the targets, as windows without other tokens between them
    targets = Places.of(torch.arange(int(counts.max())) < counts[:, None])
    return replace(batch, packing=Packing(tokens, targets, index))
