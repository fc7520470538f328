"""Move and stretch the boxes of a window at random: an augmentation for sets too small to show every coordinate."""

from dataclasses import replace

import torch

from layoutray.tensors import BOX_GRID, Batch


def jitter(batch: Batch, share: float, generator: torch.Generator) -> Batch:
    """`batch` with the boxes of each window stretched by up to `share` and moved by up to `share` of the page, along each axis.

    What leaves the page is cut to it. Boxes of special and padding tokens (all zeros) stay where they are. Neighbours stay those of
    the page as it is.
    """
    rows = len(batch.boxes)
    chance = torch.rand(2, rows, 1, 2, generator=generator) * 2 - 1
    stretch, move = 1 + share * chance[0], share * BOX_GRID * chance[1]
    boxes = batch.boxes.float() * stretch.repeat(1, 1, 2) + move.repeat(1, 1, 2)
    moved = boxes.round().clamp(0, BOX_GRID).long()
    nowhere = (batch.boxes == 0).all(-1, keepdim=True)
    return replace(batch, boxes=moved.masked_fill(nowhere, 0))
