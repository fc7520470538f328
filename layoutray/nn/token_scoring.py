"""Scorers that decide which tokens pooling keeps.

Appendix A of "Sparsifying Transformer Models with Trainable Representation Pooling" (ACL 2022, arXiv:2009.05169). The
linear and the nonlinear scorer are trained; the others are the paper's ablations. The score of the trained ones is the
sigmoid of the logit plus 1e-5, as in the authors' release; the paper prints the bare logit.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from layoutray.nn.token_pooling import PADDING_SCORE

ScorerName = Literal["linear", "nonlinear", "random", "index", "embedding", "attention"]

ReceivedAttention = Callable[[], Float[Tensor, "batch length"]]
"""Computes the attention that each token received in the layer before. A function, because only one scorer needs it."""


class LinearScorer(nn.Module):
    """wᵀx + b through a sigmoid: the paper's scorer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.classifier = nn.Linear(width, 1)

    def forward(
        self, states: Float[Tensor, "batch length width"], received: ReceivedAttention
    ) -> Float[Tensor, "batch length"]:
        return _sigmoid_score(self.classifier(states))


class NonlinearScorer(nn.Module):
    """w₂ᵀ tanh(W₁x + b₁) + b₂ with dropout before both layers (RoBERTa's classifier), through a sigmoid.

    The paper prints w₁ as a vector.
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(width, width)
        self.classifier = nn.Linear(width, 1)

    def forward(
        self, states: Float[Tensor, "batch length width"], received: ReceivedAttention
    ) -> Float[Tensor, "batch length"]:
        return _sigmoid_score(self.classifier(self.dropout(torch.tanh(self.dense(self.dropout(states))))))


class FixedScorer(nn.Module):
    """A score without parameters."""

    def __init__(self, score: Callable[[Tensor, ReceivedAttention], Tensor]) -> None:
        super().__init__()
        self.score = score

    def forward(
        self, states: Float[Tensor, "batch length width"], received: ReceivedAttention
    ) -> Float[Tensor, "batch length"]:
        return self.score(states, received)


def scorer(name: ScorerName, width: int, dropout: float, step: int) -> nn.Module:
    """The scorer called `name`, which maps states and `ReceivedAttention` to one score per token.

    `random` draws uniform numbers anew in each call. `index` is 1 for every `step`-th token, starting with the first,
    and 0 for the others. `embedding` is the first coordinate of the state. `attention` is what a token received, as in
    PoWER-BERT (arXiv:2001.08950).

    Args:
        step: number of tokens per kept token.
    """
    match name:
        case "linear":
            return LinearScorer(width)
        case "nonlinear":
            return NonlinearScorer(width, dropout)
        case "random":
            return FixedScorer(lambda states, _: torch.rand(states.shape[:2], device=states.device))
        case "index":
            return FixedScorer(partial(_every, step))
        case "embedding":
            return FixedScorer(lambda states, _: states[..., 0])
        case "attention":
            return FixedScorer(lambda _, received: received())


def _every(step: int, states: Tensor, received: ReceivedAttention) -> Tensor:
    is_step = torch.arange(states.shape[1], device=states.device) % step == 0
    return is_step.to(states.dtype).expand(states.shape[:2])


def received_attention(
    attention: Float[Tensor, "batch heads queries keys"], mask: Bool[Tensor, "batch queries"]
) -> Float[Tensor, "batch keys"]:
    """Attention probabilities summed over heads and real queries.

    The paper prints the sum over keys, which is 1 for every token and head.
    """
    return torch.einsum("bhqk, bq -> bk", attention, mask.to(attention.dtype))


def _sigmoid_score(logits: Float[Tensor, "batch length 1"]) -> Float[Tensor, "batch length"]:
    # In half precision, many sigmoids would be equal.
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return logits.squeeze(-1).sigmoid() + PADDING_SCORE
