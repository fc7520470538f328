"""Attention among long tokens and one global token in one fused GPU kernel (torch's flex_attention, arXiv:2412.05496).

Scores exist only within the kernel, tile by tile. The kernel also computes the terms of Rich Attention of each pair
from the per-token values of the two tokens, and again in the backward pass. Tiles without a pair within reach are
skipped.
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

from layoutray.nn.global_local_context import AttentionInputs
from layoutray.nn.rich_attention import RichAxis, distance_score, order_score

_TILE = 128
_KERNELS = 64
"""Largest number of kernels in a process. Each combination of terms, types, gradients and kinds of sizes has one."""


def fused_context(
    inputs: AttentionInputs, value: Float[Tensor, "batch heads tokens size"], tiles: BlockMask
) -> Float[Tensor, "batch heads tokens size"]:
    """The weighted sums of values; `tiles` is the `block_mask` of mask and reach, which all layers share."""
    compute = compiled() if value.is_cuda else flex_attention
    context: Tensor = compute(inputs.query, inputs.key, value, score_mod=_score(inputs), block_mask=tiles, scale=1.0)
    return context


def block_mask(mask: Bool[Tensor, "batch length"], reach: int) -> BlockMask:
    """The 128 × 128 tiles with a pair within reach or with the global token, and the visible pairs of these tiles."""
    real = functional.pad(mask, (1, 0), value=True)
    length, distance = real.shape[1], _constant(reach, real.device)
    tile = torch.arange(-(-length // _TILE), device=real.device)
    nearest = ((tile - tile[:, None]).abs() - 1) * _TILE + 1
    visited = (nearest <= reach) | (tile == 0) | (tile[:, None] == 0)

    @no_type_check  # traced by the compiler, which cannot trace run-time shape checks
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
def compiled() -> Callable[..., Any]:
    """flex_attention, which compiles a kernel for each kind of inputs.

    PyTorch compiles at most 8 kernels of a function by default. Then it computes all scores without a kernel, and
    fails where there are gradients. This increases the limit, for all functions of the process.
    """
    from torch._dynamo import config  # this import takes seconds

    config.recompile_limit = max(config.recompile_limit, _KERNELS)
    return torch.compile(flex_attention)


def _score(inputs: AttentionInputs) -> Callable[..., Tensor]:
    """A function that adds the relative and Rich terms to the score of a pair.

    flex_attention computes gradients only for tensors that are not scalars and are read at one place each; `RichAxis`
    follows this rule.
    """
    axes = [_with_global_placeholder(axis) for axis in inputs.rich]
    relative = None if inputs.relative is None else functional.pad(inputs.relative, (0, 0, 1, 0))
    clip = _constant(0 if relative is None else relative.shape[-1] // 2 - 1, inputs.mask.device)

    @no_type_check
    def score_of_pair(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        if relative is not None:
            distance = (key - query).clamp(-clip, clip) + clip
            score = score + relative[batch, head, query, torch.where(key == 0, 2 * clip + 1, distance)]
        for axis in axes:
            query_coordinate, key_coordinate = axis.coordinate[batch, 0, query], axis.coordinate[batch, 0, key]
            logit = axis.order_query[batch, head, query] + axis.order_key[batch, head, key]
            expected = axis.distance_query[batch, head, query] + axis.distance_key[batch, head, key]
            order = order_score(logit, query_coordinate, key_coordinate)
            terms = order + distance_score(expected, axis.theta[batch, head, query], query_coordinate, key_coordinate)
            score = score + torch.where((query > 0) & (key > 0), terms, 0.0)
        return score

    return score_of_pair


def _constant(number: int, device: torch.device) -> Tensor:
    """`number` as a tensor.

    A plain number that differs between models becomes a symbol, which flex_attention cannot compile.
    """
    return torch.full((), number, device=device)


def _with_global_placeholder(axis: RichAxis) -> RichAxis:
    """`axis` with a placeholder for the global token in front; no result depends on its value."""
    return RichAxis(**{field.name: functional.pad(getattr(axis, field.name), (1, 0)) for field in fields(axis)})
