"""Rich Attention within a sliding window: its terms are added to the scores of a band, and computed again for the gradients.

Left to autograd, the terms would keep some five tensors of the band's size per axis for the backward pass. Here none is kept, only
what each token says of itself, and the work is done block by block, so that what is intermediate stays in the processor's caches.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from layoutray.nn.local_attention import in_blocks, with_neighbours
from layoutray.nn.rich_attention import RichAxis, distance_score, order_score


def add_rich_scores(
    scores: Float[Tensor, "batch heads blocks reach keys"], axis: RichAxis, reach: int
) -> Float[Tensor, "batch heads blocks reach keys"]:
    """`scores` with one axis' terms added, in place, to the last 3·reach keys: the block between its neighbours (`local_attention`)."""
    query_parts = [in_blocks(part, reach) for part in (axis.order_query, axis.distance_query, axis.theta, axis.place)]
    key_parts = [with_neighbours(in_blocks(part, reach)) for part in (axis.order_key, axis.distance_key, axis.place)]
    return _AddRichScores.apply(scores, *query_parts, *key_parts)


class _AddRichScores(torch.autograd.Function):
    """Of what `_pairs` takes, the places have no gradients."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, *tokens: Tensor) -> Tensor:
        ctx.save_for_backward(*tokens)
        ctx.mark_dirty(scores)
        band = scores[..., -tokens[-1].shape[-1] :]
        for block, here in enumerate(band.unbind(2)):
            logit, expected, theta, query_place, key_place = _pairs(tokens, block)
            here.add_(order_score(logit, query_place, key_place))
            here.add_(distance_score(expected, theta, query_place, key_place))
        return scores

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        tokens: tuple[Tensor, ...] = ctx.saved_tensors
        order_query, distance_query, theta, _, order_key, distance_key, key_place = tokens
        band = grad[..., -key_place.shape[-1] :]
        found = [torch.empty_like(part) for part in (order_query, distance_query, theta, order_key, distance_key)]
        for block, here in enumerate(band.unbind(2)):
            for whole, part in zip(found, _gradients(here, *_pairs(tokens, block)), strict=True):
                whole[:, :, block] = part
        return grad, *found[:3], None, *found[3:], None


def _pairs(tokens: tuple[Tensor, ...], block: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """z, μ, θ and the places of queries and of keys of one block, shaped to meet as (batch, heads, queries, keys)."""
    parts = [part[:, :, block] for part in tokens]
    order_query, distance_query, theta, query_place = (part.unsqueeze(-1) for part in parts[:4])
    order_key, distance_key, key_place = (part.unsqueeze(-2) for part in parts[4:])
    return order_query + order_key, distance_query + distance_key, theta, query_place, key_place


def _gradients(
    grad: Tensor, logit: Tensor, expected: Tensor, theta: Tensor, query_place: Tensor, key_place: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Of the queries' parts of z and μ, of θ, and of the keys' parts: ∂/∂z is o − σ(z), ∂/∂μ is θ² (d − μ), ∂/∂θ is −θ (d − μ)²."""
    of_logit = ((query_place < key_place).to(grad.dtype) - logit.sigmoid()).mul_(grad)
    miss = torch.log1p((query_place - key_place).abs()) - expected
    weighed = grad * miss
    of_theta = -theta.squeeze(-1) * torch.linalg.vecdot(weighed, miss)
    of_expected = weighed.mul_(theta.square())
    return of_logit.sum(-1), of_expected.sum(-1), of_theta, of_logit.sum(-2), of_expected.sum(-2)
