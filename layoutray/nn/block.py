"""The parts of a BERT layer (post-norm), shared by text layers and contextualisers."""

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.attention import SelfAttention

LAYER_NORM_EPSILON = 1e-12
"""As in BERT; torch's own default is 1e-5."""


class AddAndNorm(nn.Module):
    """LN(x + Dropout(u)): how every sub-layer's update u joins the states x."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(width, eps=LAYER_NORM_EPSILON)

    def forward(
        self, states: Float[Tensor, "batch length width"], update: Float[Tensor, "batch length width"]
    ) -> Float[Tensor, "batch length width"]:
        return self.norm(states + self.dropout(update))


class FeedForward(nn.Module):
    """LN(x + Dropout(W₂ gelu(W₁ x))) with the exact (erf) gelu."""

    def __init__(self, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.expand = nn.Linear(width, inner)
        self.contract = nn.Linear(inner, width)
        self.join = AddAndNorm(width, dropout)

    def forward(self, states: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        return self.join(states, self.contract(functional.gelu(self.expand(states))))


class EncoderLayer(nn.Module):
    """A whole BERT layer: self-attention, then feed-forward."""

    def __init__(self, width: int, heads: int, *, feed_forward: int, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads, attention_dropout)
        self.join = AddAndNorm(width, dropout)
        self.feed_forward = FeedForward(width, feed_forward, dropout)

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        return self.feed_forward(self.join(states, self.attention(states, mask)))
