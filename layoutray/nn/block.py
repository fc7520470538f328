"""Parts of a post-norm transformer layer, with BERT's defaults."""

from collections.abc import Callable
from typing import Any, cast

from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.attention import AttentionScorer, MultiHeadAttention, SameWindow, SelfAttention, split_heads
from layoutray.tensors import Packing

LAYER_NORM_EPSILON = 1e-12
"""BERT's. RoBERTa and Longformer use torch's default, 1e-5."""

Activation = Callable[[Tensor], Tensor]

ApplyAttention = Callable[[Float[Tensor, "batch heads length size"]], Float[Tensor, "batch heads length size"]]
"""Maps values to their weighted sums under attention probabilities that were computed before."""


class AddAndNorm(nn.Module):
    """LN(x + Dropout(u)): adds the update u of a sub-layer to the states x."""

    def __init__(self, width: int, dropout: float, epsilon: float = LAYER_NORM_EPSILON) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(width, eps=epsilon)

    def forward(
        self, states: Float[Tensor, "batch length width"], update: Float[Tensor, "batch length width"]
    ) -> Float[Tensor, "batch length width"]:
        return self.norm(states + self.dropout(update))


class FeedForward(nn.Module):
    """LN(x + Dropout(W₂ σ(W₁ x))); the default σ is the exact (erf) GELU."""

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
        """The update W₂ σ(W₁ x) alone, for tokens with their own residual and LayerNorm."""
        return self.contract(self.activation(self.expand(states)))


class EncoderLayer(nn.Module):
    """A transformer encoder layer: self-attention, then feed-forward.

    Args:
        attention: maps states to their update, given a scorer (`SelfAttention`), or the mask of the real tokens if it
            has its own pattern of visible keys.
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
        self, states: Float[Tensor, "batch length width"], seen: AttentionScorer | Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        return self.feed_forward(self.join(states, self.attention(states, seen)))

    def of_queries(
        self, queries: Float[Tensor, "1 queries width"], states: Float[Tensor, "1 keys width"], scorer: AttentionScorer
    ) -> Float[Tensor, "1 queries width"]:
        """The layer's output for some of the tokens `states`; its attention is a `MultiHeadAttention`."""
        attention = cast(MultiHeadAttention, self.attention)
        update = attention.attend(queries, attention.keys_and_values(states), scorer)
        return self.feed_forward(self.join(queries, update))


def bert_layers(config: Any) -> nn.ModuleList:
    """The layers of a BERT or RoBERTa with an architecture's `config`; epsilon is BERT's unless it has its own."""
    return nn.ModuleList(
        EncoderLayer(
            SelfAttention(config.hidden, config.heads, config.attention_dropout),
            config.hidden,
            feed_forward=config.feed_forward,
            dropout=config.dropout,
            epsilon=getattr(config, "norm_epsilon", LAYER_NORM_EPSILON),
        )
        for _ in range(config.layers)
    )


def packed_layers(
    layers: nn.ModuleList, states: Float[Tensor, "1 tokens width"], packing: Packing
) -> Float[Tensor, "1 tokens width"]:
    """The output of `EncoderLayer`s for the real tokens of a batch."""
    scorer = SameWindow(packing.tokens, packing.tokens)
    for layer in layers:
        states = layer(states, scorer)
    return states


def packed_layers_of_targets(
    layers: nn.ModuleList, states: Float[Tensor, "1 tokens width"], packing: Packing
) -> Float[Tensor, "targets width"]:
    """As `packed_layers`, of the tokens with targets: the last layer computes no other tokens."""
    before = packed_layers(layers[:-1], states, packing)
    targets, scorer = before[:, packing.target_index], SameWindow(packing.targets, packing.tokens)
    return cast(EncoderLayer, layers[-1]).of_queries(targets, before, scorer).squeeze(0)


class SharedAttentionLayer(nn.Module):
    """A BERT layer that is given its attention probabilities: it has values and feed-forward, no queries and keys.

    Args:
        config: of the architecture; its `head_size` is the size of each head's values.
    """

    def __init__(self, config: Any, epsilon: float) -> None:
        super().__init__()
        self.heads = config.heads
        self.value = nn.Linear(config.hidden, config.heads * config.head_size)
        self.output = nn.Linear(config.heads * config.head_size, config.hidden)
        self.join = AddAndNorm(config.hidden, config.dropout, epsilon)
        self.feed_forward = FeedForward(config.hidden, config.feed_forward, config.dropout, epsilon)

    def forward(
        self, states: Float[Tensor, "batch length width"], attend: ApplyAttention, queries: Tensor | None = None
    ) -> Float[Tensor, "batch queries width"]:
        """The updated states of `queries` (batch, queries, width), for which `attend` sums; by default, of all."""
        context = attend(split_heads(self.value(states), self.heads))
        update = self.output(rearrange(context, "batch heads length size -> batch length (heads size)"))
        return self.feed_forward(self.join(states if queries is None else queries, update))
