"""Rich Attention, of "FormNet: Structural Encoding beyond Sequential Modeling in Form Document Information Extraction" (ACL 2022,
arXiv:2203.08411), section 3.1: attention that compares where tokens stand with where it expects them.

For a head, an axis a, a query i and a key j, with order o = [a_i < a_j] and log-distance d = ln(1 + |a_i − a_j|), the head says from
the two tokens how probable that order is, σ(z_ij), and which distance it expects, μ_ij. To the score are added, for each axis,

    o ln σ(z_ij) + (1 − o) ln σ(−z_ij)      order: minus the cross-entropy
    −θ² (d − μ_ij)² / 2                     distance: minus the squared error

z and μ are affine in [q_i; k_j]. An affine function of two vectors one after the other is a sum, z_ij = α_i + β_j with the bias in α_i:
each axis needs two numbers of every query and two of every key (`RichAxis`), and nothing of size length² · width exists.

Computed over all pairs by `rich_scores`; within a band by `layoutray.nn.rich_band`; in a fused kernel pair by pair, from the same
two formulas.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import no_type_check

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

_INITIAL_DEVIATION, _INITIAL_THETA = 0.02, 0.25


@dataclass(frozen=True)
class RichAxis:
    """What Rich Attention knows of each token along one axis.

    Attributes:
        order_query, order_key: α (with the bias) and β, whose sum is z, the logit of the order.
        distance_query, distance_key: likewise for μ, the expected log-distance.
        theta: θ, as often as there are queries.
        place: coordinates, the same for all heads.
    """

    order_query: Float[Tensor, "batch heads length"]
    order_key: Float[Tensor, "batch heads length"]
    distance_query: Float[Tensor, "batch heads length"]
    distance_key: Float[Tensor, "batch heads length"]
    theta: Float[Tensor, "batch heads length"]
    place: Float[Tensor, "batch 1 length"]


class RichAttention(nn.Module):
    """The affine maps from queries and keys to orders and distances, one of each per head and axis.

    The paper leaves the initial values open. Maps start as N(0, 0.02²) with biases 0, so that either order is equally probable; θ starts
    at 0.25, which takes 1.5 from the score at a distance of 1000 and 0.7 at 100: a weak preference for what is near.
    """

    def __init__(self, heads: int, head_size: int, axes: int = 2) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.empty(heads, head_size, 2 * axes).normal_(0.0, _INITIAL_DEVIATION))
        self.key = nn.Parameter(torch.empty(heads, head_size, 2 * axes).normal_(0.0, _INITIAL_DEVIATION))
        self.bias = nn.Parameter(torch.zeros(heads, 1, 2 * axes))
        self.theta = nn.Parameter(torch.full((heads, axes), _INITIAL_THETA))

    def forward(
        self,
        query: Float[Tensor, "batch heads length size"],
        key: Float[Tensor, "batch heads length size"],
        places: Float[Tensor, "batch length axes"],
    ) -> tuple[RichAxis, ...]:
        """One `RichAxis` per axis of `places`, in the type of the parameters also where autocast computes in a shorter one."""
        kind = self.theta.dtype
        of_query = (query @ self.query).to(kind) + self.bias
        of_key = (key @ self.key).to(kind)
        order_query, distance_query = (part.unbind(-1) for part in of_query.chunk(2, dim=-1))
        order_key, distance_key = (part.unbind(-1) for part in of_key.chunk(2, dim=-1))
        theta = self.theta.unsqueeze(1).expand(len(query), -1, query.shape[2], -1).unbind(-1)
        place = places.unsqueeze(1).unbind(-1)
        every = zip(order_query, order_key, distance_query, distance_key, theta, place, strict=True)
        return tuple(RichAxis(*parts) for parts in every)


# Kernels are traced from these two: run-time checks of shapes cannot be.
@no_type_check
def order_score(logit: Tensor, query_place: Tensor, key_place: Tensor) -> Tensor:
    """o ln σ(z) + (1 − o) ln σ(−z), element by element; finite for any z."""
    return functional.logsigmoid(torch.where(query_place < key_place, 1.0, -1.0) * logit)


@no_type_check
def distance_score(expected: Tensor, theta: Tensor, query_place: Tensor, key_place: Tensor) -> Tensor:
    """−θ² (d − μ)² / 2, element by element."""
    return -0.5 * theta.square() * (torch.log1p((query_place - key_place).abs()) - expected).square()


def rich_scores(axes: Sequence[RichAxis]) -> Float[Tensor, "batch heads length length"]:
    """The sum over axes of what is added to the score of each query (the rows) and key: length × length, for tests and pictures."""
    total = torch.zeros((), device=axes[0].place.device)
    for axis in axes:
        query_place, key_place = axis.place.unsqueeze(-1), axis.place.unsqueeze(-2)
        logit = axis.order_query.unsqueeze(-1) + axis.order_key.unsqueeze(-2)
        expected = axis.distance_query.unsqueeze(-1) + axis.distance_key.unsqueeze(-2)
        order = order_score(logit, query_place, key_place)
        total = total + order + distance_score(expected, axis.theta.unsqueeze(-1), query_place, key_place)
    return total
