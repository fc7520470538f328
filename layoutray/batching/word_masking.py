"""Augmentation for small data sets: hide random words, so that a model also uses layout and context."""

from dataclasses import replace

import torch

from layoutray.tensors import Batch


def mask_words(batch: Batch, share: float, mask_id: int, generator: torch.Generator) -> Batch:
    """`batch` with `mask_id` for all tokens of about `share` of the words of each window.

    Special and padding tokens, boxes and labels are unchanged.
    """
    assert batch.word_index is not None
    words = batch.word_index.clamp(min=0)
    drawn = torch.rand(words.shape, generator=generator) < share
    masked = drawn.gather(1, words) & (batch.word_index >= 0)
    return replace(batch, input_ids=batch.input_ids.masked_fill(masked, mask_id))
