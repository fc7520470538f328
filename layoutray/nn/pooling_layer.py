"""What stands between two encoder layers where a text gets shorter: "Sparsifying Transformer Models with Trainable Representation
Pooling" (ACL 2022, arXiv:2009.05169).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray.nn.blockwise_attention import padded
from layoutray.nn.token_pooling import Halving, Pooled, hard_topk, successive_halving_topk, window_pool
from layoutray.nn.token_scoring import Name, Received, scorer
from layoutray.tensors import Encoded, Mixture

How = Literal["successive_halving", "hard", "mean", "max"]


@dataclass(frozen=True)
class PoolingKind:
    """Attributes:
    how: the paper's operator, its hard counterpart, or mean or maximum of neighbours (Appendix A).
    scorer: what decides who is kept; the poolings of neighbours ask nobody.
    order: of what the operator keeps.
    """

    how: How
    scorer: Name
    order: Literal["document", "score"]


POWER = PoolingKind("hard", "attention", "document")
"""PoWER-BERT's (arXiv:2001.08950): the k tokens that received the most attention."""


class Pooling(nn.Module):
    """Leaves one token in 2^halvings."""

    def __init__(self, kind: PoolingKind, halvings: int, *, width: int, dropout: float) -> None:
        super().__init__()
        self.ratio = 2**halvings
        self.how = kind.how
        self.halving = Halving(order=kind.order)
        asks = kind.how in ("successive_halving", "hard")
        self.scorer = scorer(kind.scorer, width, dropout, self.ratio) if asks else None

    def forward(self, tokens: Encoded, received: Received) -> Encoded:
        states, mask, origin = (padded(rows, self.ratio) for rows in (tokens.states, tokens.mask, tokens.origin))
        pooled = self.pool(states, mask, lambda: padded(received(), self.ratio))
        mixture = pooled.mixture and pooled.mixture.after(_made_of(tokens, origin, self.ratio))
        return Encoded(pooled.states, pooled.mask, origin.gather(1, pooled.origin), mixture)

    def pool(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"], received: Received
    ) -> Pooled:
        """Γ, or what stands for it; `ratio` divides the length."""
        k = states.shape[1] // self.ratio
        if self.how == "mean" or self.how == "max":
            return window_pool(states, mask, k, self.how)
        assert self.scorer is not None
        scores = self.scorer(states, received)
        if self.how == "hard":
            return hard_topk(states, scores, mask, k)
        return successive_halving_topk(states, scores, mask, k, self.halving)


def _made_of(tokens: Encoded, origin: Int[Tensor, "batch padded"], multiple: int) -> Mixture:
    """The mixture of states that are padded to a multiple; those that have not been pooled are their own token."""
    if tokens.mixture is None:
        return Mixture(origin[..., None], torch.ones_like(origin[..., None], dtype=tokens.states.dtype))
    return Mixture(padded(tokens.mixture.tokens, multiple), padded(tokens.mixture.weights, multiple))
