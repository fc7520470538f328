"""What a token is worth when only some are kept: the scorers of "Sparsifying Transformer Models with Trainable Representation Pooling"
(ACL 2022, arXiv:2009.05169), Appendix A.

Two of them learn; the others are its ablations. The learned ones put their logit through a sigmoid and add 1e-5, as the authors' release
does: the paper prints the bare logit.
"""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from layoutray.nn.token_pooling import PADDING_SCORE

Name = Literal["linear", "nonlinear", "random", "index", "embedding", "attention"]

Received = Callable[[], Float[Tensor, "batch length"]]
"""How much attention each token got in the layer that made the states; computed when it is called, by one scorer in six."""


class LinearScorer(nn.Module):
    """wᵀx + b, bounded: what the paper uses."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.classifier = nn.Linear(width, 1)

    def forward(self, states: Float[Tensor, "batch length width"], received: Received) -> Float[Tensor, "batch length"]:
        return _bounded(self.classifier(states))


class NonlinearScorer(nn.Module):
    """w₂ᵀ tanh(W₁x + b₁) + b₂ with dropout before either layer (RoBERTa's classifier), bounded. The paper prints w₁ as a vector."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(width, width)
        self.classifier = nn.Linear(width, 1)

    def forward(self, states: Float[Tensor, "batch length width"], received: Received) -> Float[Tensor, "batch length"]:
        return _bounded(self.classifier(self.dropout(torch.tanh(self.dense(self.dropout(states))))))


class RandomScorer(nn.Module):
    """Uniform numbers, drawn anew at each call."""

    def forward(self, states: Float[Tensor, "batch length width"], received: Received) -> Float[Tensor, "batch length"]:
        return torch.rand(states.shape[:2], device=states.device)


class IndexScorer(nn.Module):
    """1 for every `step`-th token, beginning with the first, 0 for all others."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def forward(self, states: Float[Tensor, "batch length width"], received: Received) -> Float[Tensor, "batch length"]:
        chosen = torch.arange(states.shape[1], device=states.device) % self.step == 0
        return chosen.to(states.dtype).expand(states.shape[:2])


class CoordinateScorer(nn.Module):
    """One fixed coordinate of the state."""

    def __init__(self, coordinate: int) -> None:
        super().__init__()
        self.coordinate = coordinate

    def forward(self, states: Float[Tensor, "batch length width"], received: Received) -> Float[Tensor, "batch length"]:
        return states[..., self.coordinate]


class AttentionScorer(nn.Module):
    """The attention that a token has received, as in PoWER-BERT (arXiv:2001.08950)."""

    def forward(self, states: Float[Tensor, "batch length width"], received: Received) -> Float[Tensor, "batch length"]:
        return received()


def scorer(name: Name, width: int, dropout: float, step: int) -> nn.Module:
    """The scorer called `name`: from states and `Received` to one score per token.

    Args:
        width: of the states.
        dropout: of `nonlinear`.
        step: of `index`: how many tokens there are for each that is kept.
    """
    match name:
        case "linear":
            return LinearScorer(width)
        case "nonlinear":
            return NonlinearScorer(width, dropout)
        case "random":
            return RandomScorer()
        case "index":
            return IndexScorer(step)
        case "embedding":
            return CoordinateScorer(0)
        case "attention":
            return AttentionScorer()


def received_attention(
    attention: Float[Tensor, "batch heads queries keys"], mask: Bool[Tensor, "batch queries"]
) -> Float[Tensor, "batch keys"]:
    """Probabilities summed over heads and real queries. The paper prints the sum over keys, which is 1 for every token and head."""
    return torch.einsum("bhqk, bq -> bk", attention, mask.to(attention.dtype))


def _bounded(logits: Float[Tensor, "batch length 1"]) -> Float[Tensor, "batch length"]:
    # In half precision many sigmoids would be equal.
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return logits.squeeze(-1).sigmoid() + PADDING_SCORE
