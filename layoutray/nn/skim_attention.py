"""Attention computed from layout alone ("Skim-Attention", arXiv:2109.01078): parts shared by its dense models."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from layoutray.nn.attention import (
    SelfAttention,
    VisibleKeys,
    attention_probabilities,
    by_window,
    in_one_row,
    in_windows,
    split_heads,
)
from layoutray.nn.block import EncoderLayer, packed_layers
from layoutray.tensors import Packing

ContextualiserMask = Literal["masked", "reference_parity"]
"""`masked` hides padding from a contextualiser; `reference_parity` does not, as in the release."""


class SkimAttention(nn.Module):
    """Eq. 3: A = softmax(QKᵀ/√s), queries and keys of layout embeddings. `config`: an `architectures.SkimConfig`."""

    def __init__(self, config: Any, dropout: float) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.layout_hidden, config.heads * config.skim_head_size)
        self.key = nn.Linear(config.layout_hidden, config.heads * config.skim_head_size)
        self.dropout = nn.Dropout(dropout)

    @torch.no_grad()
    def attend_to_similar(self, score: float) -> None:
        """Give keys the weights of queries, so that a token attends most to tokens with similar layout embeddings.

        Args:
            score: mean attention score of a token with itself, where the embeddings come from a LayerNorm.
        """
        size, width = self.query.out_features / self.heads, self.query.in_features
        self.query.weight.mul_((score / (self.query.weight.square().mean() * width * size**0.5)).sqrt())
        self.key.weight.copy_(self.query.weight)

    def forward(
        self, layout: Float[Tensor, "batch length layout_width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch heads length length"]:
        query, key = split_heads(self.query(layout), self.heads), split_heads(self.key(layout), self.heads)
        return self.dropout(attention_probabilities(query, key, mask))

    def packed(self, layout: Float[Tensor, "1 tokens layout_width"], packing: Packing) -> "PackedSkimAttention":
        """The attention of windows in one row."""
        tokens = packing.tokens
        query, key = split_heads(self.query(layout), self.heads), split_heads(self.key(layout), self.heads)
        if layout.is_cuda:
            padded = attention_probabilities(in_windows(query, tokens), in_windows(key, tokens), tokens.mask())
            return PackedSkimAttention(packing, (self.dropout(padded),))
        windows = zip(by_window(query, tokens), by_window(key, tokens), strict=True)
        of_windows = (attention_probabilities(*window, None) for window in windows)
        return PackedSkimAttention(packing, tuple(map(self.dropout, of_windows)))


@dataclass(frozen=True)
class PackedSkimAttention:
    """Attention probabilities of windows in one row.

    Attributes:
        probabilities: one tensor (1, heads, length, length) for each window; on a GPU, which is slow at many small
            products, one of all windows with their padding.
    """

    packing: Packing
    probabilities: tuple[Float[Tensor, "_ heads _ _"], ...]

    def attend(self, value: Float[Tensor, "1 heads tokens size"]) -> Float[Tensor, "1 heads tokens size"]:
        """The weighted sums of values."""
        tokens = self.packing.tokens
        if value.is_cuda:
            return in_one_row(self.probabilities[0] @ in_windows(value, tokens), tokens)
        windows = zip(self.probabilities, by_window(value, tokens), strict=True)
        return torch.cat([probabilities @ of_window for probabilities, of_window in windows], dim=2)

    def attend_from_targets(self, value: Float[Tensor, "1 heads tokens size"]) -> Float[Tensor, "1 heads targets size"]:
        """The weighted sums for the tokens with targets alone."""
        return self.attend(value)[:, :, self.packing.target_index]


class Contextualiser(nn.Module):
    """A small transformer that contextualises layout embeddings before Skim-Attention.

    Args:
        config: of the architecture, an `architectures.SkimConfig` with a `contextualiser_mask`.
    """

    def __init__(self, config: Any, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.hides_padding = config.contextualiser_mask == "masked"
        width, heads = config.layout_hidden, config.contextualiser_heads
        self.layers = nn.ModuleList(
            EncoderLayer(
                SelfAttention(width, heads, attention_dropout), width, feed_forward=config.feed_forward, dropout=dropout
            )
            for _ in range(config.contextualiser_layers)
        )

    def forward(
        self, layout: Float[Tensor, "batch length layout_width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length layout_width"]:
        scorer = VisibleKeys.of_all_queries(mask if self.hides_padding else torch.ones_like(mask))
        for layer in self.layers:
            layout = layer(layout, scorer)
        return layout

    def packed(
        self, layout: Float[Tensor, "batch length layout_width"], mask: Bool[Tensor, "batch length"], packing: Packing
    ) -> Float[Tensor, "1 tokens layout_width"]:
        """The real tokens in one row. Padding is computed only if it is visible."""
        if self.hides_padding:
            return packed_layers(self.layers, packing.tokens.pack(layout), packing)
        return packing.tokens.pack(self(layout, mask))
