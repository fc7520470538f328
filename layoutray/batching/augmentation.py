"""Random changes of training windows, for small data sets."""

from dataclasses import replace

import torch

from layoutray.tensors import BOX_GRID, Batch


def jitter(batch: Batch, share: float, generator: torch.Generator) -> Batch:
    """`batch` with the boxes of each window stretched by up to `share`, then shifted by up to `share` of the page.

    A small data set does not contain every coordinate. Both axes have their own random numbers. Boxes are clipped to
    the page. Boxes of special and padding tokens (all zeros) and the neighbours of words are unchanged.
    """
    rows = len(batch.boxes)
    random = torch.rand(2, rows, 1, 2, generator=generator) * 2 - 1
    stretch, shift = 1 + share * random[0], share * BOX_GRID * random[1]
    boxes = batch.boxes.float() * stretch.repeat(1, 1, 2) + shift.repeat(1, 1, 2)
    without_box = (batch.boxes == 0).all(-1, keepdim=True)
    return replace(batch, boxes=boxes.round().clamp(0, BOX_GRID).long().masked_fill(without_box, 0))


def mask_words(batch: Batch, share: float, mask_id: int, generator: torch.Generator) -> Batch:
    """`batch` with `mask_id` for all tokens of about `share` of the words of each window.

    The model then also uses layout and context. Special and padding tokens, boxes and labels are unchanged.
    """
    assert batch.word_index is not None
    words = batch.word_index.clamp(min=0)
    drawn = torch.rand(words.shape, generator=generator) < share
    masked = drawn.gather(1, words) & (batch.word_index >= 0)
    return replace(batch, input_ids=batch.input_ids.masked_fill(masked, mask_id))
