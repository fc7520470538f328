"""Rich Attention: attention that compares the actual layout of two tokens with the layout that it predicts from them.

Section 3.1 of "FormNet: Structural Encoding beyond Sequential Modeling in Form Document Information Extraction" (ACL
2022, arXiv:2203.08411).

Along an axis, let a_i and a_j be the coordinates of a query i and a key j, o = [a_i < a_j] their order and
d = ln(1 + |a_i − a_j|) their log-distance. From the two tokens, a head predicts the probability σ(z_ij) of this order
and the expected log-distance μ_ij. For each axis, two terms are added to the attention score:

    o ln σ(z_ij) + (1 − o) ln σ(−z_ij)      order: minus the cross-entropy
    −θ² (d − μ_ij)² / 2                     distance: minus the squared error

z and μ are affine in [q_i; k_j]. An affine function of a concatenation is a sum, z_ij = α_i + β_j with the bias in α_i.
Each axis thus needs two numbers per query and two per key (`RichAxis`), and no tensor has size length² · width.

`rich_scores` computes the terms of all pairs, `layoutray.nn.rich_band` those within a band, and
`layoutray.nn.global_local_fused` those of single pairs in a kernel; all use the same two formulas.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import no_type_check

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

_INITIAL_DEVIATION = 0.02
INITIAL_THETA = 0.25
"""Lowers the score by 1.5 at a distance of 1000 and by 0.7 at 100: a weak preference for near tokens."""


@dataclass(frozen=True, kw_only=True)
class RichAxis:
    """The per-token values of Rich Attention along one axis.

    Attributes:
        order_query, order_key: α (with the bias) and β; their sum is z, the logit of the order.
        distance_query, distance_key: the same for μ, the expected log-distance.
        theta: θ, repeated for each query.
        coordinate: coordinates of the tokens, the same for all heads.
    """

    order_query: Float[Tensor, "batch heads length"]
    order_key: Float[Tensor, "batch heads length"]
    distance_query: Float[Tensor, "batch heads length"]
    distance_key: Float[Tensor, "batch heads length"]
    theta: Float[Tensor, "batch heads length"]
    coordinate: Float[Tensor, "batch 1 length"]


class RichAttention(nn.Module):
    """The affine maps from queries and keys to z and μ, one of each per head and axis.

    The paper does not state the initial values. Here, maps start as N(0, 0.02²) with biases 0, which makes both orders
    equally probable.
    """

    def __init__(self, heads: int, head_size: int, axes: int = 2, theta: float = INITIAL_THETA) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.empty(heads, head_size, 2 * axes).normal_(0.0, _INITIAL_DEVIATION))
        self.key = nn.Parameter(torch.empty(heads, head_size, 2 * axes).normal_(0.0, _INITIAL_DEVIATION))
        self.bias = nn.Parameter(torch.zeros(heads, 1, 2 * axes))
        self.theta = nn.Parameter(torch.full((heads, axes), theta))

    def forward(
        self,
        query: Float[Tensor, "batch heads length size"],
        key: Float[Tensor, "batch heads length size"],
        places: Float[Tensor, "batch length axes"],
    ) -> tuple[RichAxis, ...]:
        """One `RichAxis` per axis of the coordinates `places`, in the type of the parameters even under autocast."""
        dtype = self.theta.dtype
        query_values = (query @ self.query).to(dtype) + self.bias
        key_values = (key @ self.key).to(dtype)
        order_query, distance_query = (part.unbind(-1) for part in query_values.chunk(2, dim=-1))
        order_key, distance_key = (part.unbind(-1) for part in key_values.chunk(2, dim=-1))
        theta = self.theta.unsqueeze(1).expand(len(query), -1, query.shape[2], -1).unbind(-1)
        coordinate = places.unsqueeze(1).unbind(-1)
        return tuple(
            RichAxis(
                order_query=order_query[axis],
                order_key=order_key[axis],
                distance_query=distance_query[axis],
                distance_key=distance_key[axis],
                theta=theta[axis],
                coordinate=coordinate[axis],
            )
            for axis in range(len(coordinate))
        )


# The fused kernel is traced from the next two functions; run-time shape checks cannot be traced.
@no_type_check
def order_score(logit: Tensor, query_coordinate: Tensor, key_coordinate: Tensor) -> Tensor:
    """o ln σ(z) + (1 − o) ln σ(−z), elementwise; finite for any z."""
    return functional.logsigmoid(torch.where(query_coordinate < key_coordinate, 1.0, -1.0) * logit)


@no_type_check
def distance_score(expected: Tensor, theta: Tensor, query_coordinate: Tensor, key_coordinate: Tensor) -> Tensor:
    """−θ² (d − μ)² / 2, elementwise."""
    return -0.5 * theta.square() * (torch.log1p((query_coordinate - key_coordinate).abs()) - expected).square()


def rich_scores(axes: Sequence[RichAxis]) -> Float[Tensor, "batch heads length length"]:
    """The terms of each query (rows) and key (columns), summed over axes: length × length, for tests and pictures."""
    total = torch.zeros((), device=axes[0].coordinate.device)
    for axis in axes:
        query_coordinate, key_coordinate = axis.coordinate.unsqueeze(-1), axis.coordinate.unsqueeze(-2)
        logit = axis.order_query.unsqueeze(-1) + axis.order_key.unsqueeze(-2)
        expected = axis.distance_query.unsqueeze(-1) + axis.distance_key.unsqueeze(-2)
        order = order_score(logit, query_coordinate, key_coordinate)
        total = total + order + distance_score(expected, axis.theta.unsqueeze(-1), query_coordinate, key_coordinate)
    return total
