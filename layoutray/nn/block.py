"""The parts of a post-norm transformer layer. The defaults are BERT's."""

from collections.abc import Callable

from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.attention import Visible, split_heads

LAYER_NORM_EPSILON = 1e-12
"""As in BERT; RoBERTa and Longformer have torch's own default, 1e-5."""

Activation = Callable[[Tensor], Tensor]

Attend = Callable[[Float[Tensor, "batch heads length size"]], Float[Tensor, "batch heads length size"]]
"""From values to their sums under attention probabilities that are fixed already."""


class AddAndNorm(nn.Module):
    """LN(x + Dropout(u)): how every sub-layer's update u joins the states x."""

    def __init__(self, width: int, dropout: float, epsilon: float = LAYER_NORM_EPSILON) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(width, eps=epsilon)

    def forward(
        self, states: Float[Tensor, "batch length width"], update: Float[Tensor, "batch length width"]
    ) -> Float[Tensor, "batch length width"]:
        return self.norm(states + self.dropout(update))


class FeedForward(nn.Module):
    """LN(x + Dropout(W₂ σ(W₁ x))); σ is by default the exact (erf) gelu."""

    def __init__(
        self,
        width: int,
        inner: int,
        dropout: float,
        epsilon: float = LAYER_NORM_EPSILON,
        activation: Activation = functional.gelu,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.expand = nn.Linear(width, inner)
        self.contract = nn.Linear(inner, width)
        self.join = AddAndNorm(width, dropout, epsilon)

    def forward(self, states: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        return self.join(states, self.update(states))

    def update(self, states: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        """The update W₂ σ(W₁ x), for tokens that share the weights and not the LayerNorm."""
        return self.contract(self.activation(self.expand(states)))


class EncoderLayer(nn.Module):
    """A whole layer: self-attention, then feed-forward.

    Args:
        attention: from states, and what of them may be attended to, to the update of the states.
    """

    def __init__(
        self,
        attention: nn.Module,
        width: int,
        *,
        feed_forward: int,
        dropout: float,
        epsilon: float = LAYER_NORM_EPSILON,
        activation: Activation = functional.gelu,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.join = AddAndNorm(width, dropout, epsilon)
        self.feed_forward = FeedForward(width, feed_forward, dropout, epsilon, activation)

    def forward(
        self, states: Float[Tensor, "batch length width"], visible: Visible
    ) -> Float[Tensor, "batch length width"]:
        return self.feed_forward(self.join(states, self.attention(states, visible)))


class GivenAttentionLayer(nn.Module):
    """A BERT layer that is given its attention instead of computing it: only values and feed-forward are its own.

    Args:
        width: of the states.
        head_size: of each head's values.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        head_size: int,
        *,
        feed_forward: int,
        dropout: float,
        epsilon: float = LAYER_NORM_EPSILON,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.value = nn.Linear(width, heads * head_size)
        self.output = nn.Linear(heads * head_size, width)
        self.join = AddAndNorm(width, dropout, epsilon)
        self.feed_forward = FeedForward(width, feed_forward, dropout, epsilon)

    def forward(
        self, states: Float[Tensor, "batch length width"], attend: Attend
    ) -> Float[Tensor, "batch length width"]:
        context = attend(split_heads(self.value(states), self.heads))
        return self.feed_forward(
            self.join(states, self.output(rearrange(context, "batch heads length size -> batch length (heads size)")))
        )
