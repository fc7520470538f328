"""Attention among one global token and long ones in one fused kernel (torch's flex_attention, arXiv:2412.05496), for GPUs.

Scores exist only within the kernel, tile by tile, and so do the terms of Rich Attention: each pair's are computed there from what the
two tokens say of themselves, in the backward pass once more. Tiles that hold no pair within reach are not visited.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, no_type_check

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from layoutray.nn.global_local_context import Attending
from layoutray.nn.rich_attention import RichAxis, distance_score, order_score

_TILE = 128


def fused_context(
    attending: Attending, value: Float[Tensor, "batch heads tokens size"]
) -> Float[Tensor, "batch heads tokens size"]:
    """Sums of values under the probabilities of `attending`."""
    compute = _compiled() if value.is_cuda else flex_attention
    mask = block_mask(attending.mask, attending.reach)
    context: Tensor = compute(
        attending.query, attending.key, value, score_mod=_score(attending), block_mask=mask, scale=1.0
    )
    return context


def block_mask(mask: Bool[Tensor, "batch length"], reach: int) -> BlockMask:
    """Which tiles of 128 × 128 hold pairs within reach or of the global token, and which pairs of these see each other."""
    real = functional.pad(mask, (1, 0), value=True)
    length, distance = real.shape[1], _constant(reach, real.device)
    tile = torch.arange(-(-length // _TILE), device=real.device)
    nearest = ((tile - tile[:, None]).abs() - 1) * _TILE + 1
    visited = (nearest <= reach) | (tile == 0) | (tile[:, None] == 0)

    @no_type_check  # as it is traced
    def sees(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        near = ((query - key).abs() <= distance) | (query == 0) | (key == 0)
        return near & real[batch, query] & real[batch, key]

    return BlockMask.from_kv_blocks(
        visited.sum(-1, dtype=torch.int32)[None, None],
        visited.int().argsort(dim=-1, descending=True, stable=True).int()[None, None],
        BLOCK_SIZE=_TILE,
        mask_mod=sees,
        seq_lengths=(length, length),
    )


@cache
def _compiled() -> Callable[..., Any]:
    return torch.compile(flex_attention)


def _score(attending: Attending) -> Callable[..., Tensor]:
    """From the score of a pair to that with its relative and Rich terms.

    Gradients of what a kernel reads need one tensor for each place that reads, none of them a scalar; `RichAxis` is made that way.
    """
    axes = [_behind_global(axis) for axis in attending.rich]
    relative = None if attending.relative is None else functional.pad(attending.relative, (0, 0, 1, 0))
    clip = _constant(0 if relative is None else relative.shape[-1] // 2 - 1, attending.mask.device)

    @no_type_check
    def score_of_pair(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        if relative is not None:
            distance = (key - query).clamp(-clip, clip) + clip
            score = score + relative[batch, head, query, torch.where(key == 0, 2 * clip + 1, distance)]
        for axis in axes:
            query_place, key_place = axis.place[batch, 0, query], axis.place[batch, 0, key]
            logit = axis.order_query[batch, head, query] + axis.order_key[batch, head, key]
            expected = axis.distance_query[batch, head, query] + axis.distance_key[batch, head, key]
            order = order_score(logit, query_place, key_place)
            terms = order + distance_score(expected, axis.theta[batch, head, query], query_place, key_place)
            score = score + torch.where((query > 0) & (key > 0), terms, 0.0)
        return score

    return score_of_pair


def _constant(number: int, device: torch.device) -> Tensor:
    """For kernels that serve several models: a plain number that differs becomes a symbol, which flex_attention cannot compile."""
    return torch.full((), number, device=device)


def _behind_global(axis: RichAxis) -> RichAxis:
    """`axis` with numbers for the global token in front, which nothing depends on."""
    return RichAxis(*(functional.pad(getattr(axis, field.name), (1, 0)) for field in fields(axis)))
