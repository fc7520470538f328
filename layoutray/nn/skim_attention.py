"""Attention computed from layout alone ("Skim-Attention", arXiv:2109.01078): parts shared by its dense models."""

from collections.abc import Callable, Iterable, Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from layoutray.nn.attention import attention_probabilities, split_heads
from layoutray.nn.block import EncoderLayer


class SkimAttention(nn.Module):
    """Eq. 3: A = softmax(QKᵀ/√s) with queries and keys computed from layout embeddings."""

    def __init__(self, layout_width: int, heads: int, head_size: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(layout_width, heads * head_size)
        self.key = nn.Linear(layout_width, heads * head_size)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, layout: Float[Tensor, "batch length layout_width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch heads length length"]:
        query, key = split_heads(self.query(layout), self.heads), split_heads(self.key(layout), self.heads)
        return self.dropout(attention_probabilities(query, key, mask))


class Contextualiser(nn.Module):
    """A small transformer that contextualises layout embeddings before Skim-Attention.

    Args:
        visible: maps the mask of real tokens to the mask of tokens that may be attended to.
    """

    def __init__(self, layers: Iterable[EncoderLayer], visible: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.visible = visible
        self.layers = nn.ModuleList(layers)

    def forward(
        self, layout: Float[Tensor, "batch length layout_width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length layout_width"]:
        for layer in self.layers:
            layout = layer(layout, self.visible(mask))
        return layout


def _real_tokens(mask: Tensor) -> Tensor:
    return mask


CONTEXTUALISER_MASKS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "masked": _real_tokens,
    "reference_parity": torch.ones_like,
}
"""The `visible` of a contextualiser by its name in a configuration: `masked` hides padding; `reference_parity` does
not, as in the release."""
