"""A pooling layer between two encoder layers, which shortens the sequence.

"Sparsifying Transformer Models with Trainable Representation Pooling" (ACL 2022, arXiv:2009.05169).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray.nn.blockwise_attention import padded
from layoutray.nn.token_pooling import HalvingSettings, Pooled, hard_topk, successive_halving_topk, window_pool
from layoutray.nn.token_scoring import ReceivedAttention, ScorerName, scorer
from layoutray.tensors import Encoded, Mixture

PoolingMethod = Literal["successive_halving", "hard", "mean", "max"]


@dataclass(frozen=True)
class PoolingKind:
    """Configuration of a pooling layer.

    Attributes:
        method: the paper's operator, hard top-k, or mean or maximum over windows (Appendix A).
        scorer: scores the tokens; ignored by `mean` and `max`.
        halving: rules of `successive_halving`.
    """

    method: PoolingMethod
    scorer: ScorerName
    halving: HalvingSettings


class Pooling(nn.Module):
    """Keeps one of every 2^halvings tokens."""

    def __init__(self, kind: PoolingKind, halvings: int, *, width: int, dropout: float) -> None:
        super().__init__()
        self.ratio = 2**halvings
        self.method = kind.method
        self.halving = kind.halving
        uses_scores = kind.method in ("successive_halving", "hard")
        self.scorer = scorer(kind.scorer, width, dropout, self.ratio) if uses_scores else None

    def forward(self, tokens: Encoded, received: ReceivedAttention) -> Encoded:
        states, mask, origin = (padded(rows, self.ratio) for rows in (tokens.states, tokens.mask, tokens.origin))
        pooled = self.pool(states, mask, lambda: padded(received(), self.ratio))
        mixture = pooled.mixture and pooled.mixture.compose(_token_mixture(tokens, origin, self.ratio))
        return Encoded(states=pooled.states, mask=pooled.mask, origin=origin.gather(1, pooled.origin), mixture=mixture)

    def pool(
        self,
        states: Float[Tensor, "batch length width"],
        mask: Bool[Tensor, "batch length"],
        received: ReceivedAttention,
    ) -> Pooled:
        """Γ or one of its alternatives; `ratio` must divide the length."""
        k = states.shape[1] // self.ratio
        if self.method == "mean" or self.method == "max":
            return window_pool(states, mask, k, self.method)
        assert self.scorer is not None
        scores = self.scorer(states, received)
        if self.method == "hard":
            return hard_topk(states, scores, mask, k)
        return successive_halving_topk(states, scores, mask, k, self.halving)


def _token_mixture(tokens: Encoded, origin: Int[Tensor, "batch padded"], multiple: int) -> Mixture:
    """The mixture of states after padding to a multiple; a state that was not pooled consists of its own token."""
    if tokens.mixture is None:
        return Mixture(origin[..., None], torch.ones_like(origin[..., None], dtype=tokens.states.dtype))
    return Mixture(padded(tokens.mixture.tokens, multiple), padded(tokens.mixture.weights, multiple))
