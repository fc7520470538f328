"""Rich Attention within a sliding window: its terms are added to a band of scores and recomputed for the gradients.

Autograd would store about five tensors of the band's size per axis for the backward pass. This function stores only the
per-token values and works block by block, which keeps intermediate results in the processor's caches.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from layoutray.nn.local_attention import Band
from layoutray.nn.rich_attention import RichAxis, distance_score, order_score


def add_rich_scores(
    scores: Float[Tensor, "batch heads blocks queries keys"], axis: RichAxis, band: Band
) -> Float[Tensor, "batch heads blocks queries keys"]:
    """Adds the terms of one axis in place to the scores of the last keys, which are those of `band`."""
    query_parts = [
        band.query_blocks(part) for part in (axis.order_query, axis.distance_query, axis.theta, axis.coordinate)
    ]
    key_parts = [band.key_blocks(part) for part in (axis.order_key, axis.distance_key, axis.coordinate)]
    return _AddRichScores.apply(scores, *query_parts, *key_parts)


class _AddRichScores(torch.autograd.Function):
    """`add_rich_scores` with a backward pass; the coordinates get no gradients."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, *tokens: Tensor) -> Tensor:
        ctx.save_for_backward(*tokens)
        ctx.mark_dirty(scores)
        band = scores[..., -tokens[-1].shape[-1] :]
        for block, block_scores in enumerate(band.unbind(2)):
            logit, expected, theta, query_coordinate, key_coordinate = _pair_values(tokens, block)
            block_scores.add_(order_score(logit, query_coordinate, key_coordinate))
            block_scores.add_(distance_score(expected, theta, query_coordinate, key_coordinate))
        return scores

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        tokens: tuple[Tensor, ...] = ctx.saved_tensors
        order_query, distance_query, theta, _, order_key, distance_key, key_coordinate = tokens
        band = grad[..., -key_coordinate.shape[-1] :]
        gradients = [torch.empty_like(part) for part in (order_query, distance_query, theta, order_key, distance_key)]
        for block, block_grad in enumerate(band.unbind(2)):
            for whole, part in zip(gradients, _gradients(block_grad, *_pair_values(tokens, block)), strict=True):
                whole[:, :, block] = part
        return grad, *gradients[:3], None, *gradients[3:], None


def _pair_values(tokens: tuple[Tensor, ...], block: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """z, μ, θ and the coordinates of queries and keys of one block, broadcastable to (batch, heads, queries, keys)."""
    parts = [part[:, :, block] for part in tokens]
    order_query, distance_query, theta, query_coordinate = (part.unsqueeze(-1) for part in parts[:4])
    order_key, distance_key, key_coordinate = (part.unsqueeze(-2) for part in parts[4:])
    return order_query + order_key, distance_query + distance_key, theta, query_coordinate, key_coordinate


def _gradients(
    grad: Tensor, logit: Tensor, expected: Tensor, theta: Tensor, query_coordinate: Tensor, key_coordinate: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of α of z and μ, of θ, and of β of z and μ.

    ∂/∂z is o − σ(z), ∂/∂μ is θ² (d − μ), ∂/∂θ is −θ (d − μ)².
    """
    logit_grad = ((query_coordinate < key_coordinate).to(grad.dtype) - logit.sigmoid()).mul_(grad)
    error = torch.log1p((query_coordinate - key_coordinate).abs()) - expected
    weighted_error = grad * error
    theta_grad = -theta.squeeze(-1) * torch.linalg.vecdot(weighted_error, error)
    expected_grad = weighted_error.mul_(theta.square())
    return logit_grad.sum(-1), expected_grad.sum(-1), theta_grad, logit_grad.sum(-2), expected_grad.sum(-2)
