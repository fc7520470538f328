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
    return replace(batch, packing=Packing(tokens, _as_windows(tuple(wanted.sum(1).tolist())), index))


def _as_windows(lengths: tuple[int, ...]) -> Places:
    """The places of so many tokens of each window, without other tokens between them."""
    longest = torch.arange(max(lengths))
    return Places.of(longest < torch.tensor(lengths)[:, None])
