"""What flows through models: a batch in, encoded states out.

Shape legend, used in every signature: `batch`, `length` tokens, `words`, `width` of states, `labels`, `vocabulary`.
"""

from dataclasses import dataclass, fields, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


@dataclass(frozen=True)
class Batch:
    """Padded windows of tokens.

    Attributes:
        input_ids: token ids; padding holds the tokenizer's pad id.
        boxes: x0 y0 x1 y1, integers 0..1000 in thousandths of the page; special and padding tokens hold zeros.
        mask: True on real tokens (special ones too), False on padding.
        labels: target per token, or the tokens of the text to write, its end included; -100 where none; absent when there is no truth.
        word_index: number of each token's word within the window, from 0; -1 on special and padding tokens.
        neighbours: for each word of a window its neighbours on the page, the nearest first; -1 where there are fewer than 8.
        page_sizes: width and height of each window's page, in pixels.
    """

    input_ids: Int[Tensor, "batch length"]
    boxes: Int[Tensor, "batch length 4"]
    mask: Bool[Tensor, "batch length"]
    labels: Int[Tensor, "batch targets"] | None = None
    word_index: Int[Tensor, "batch length"] | None = None
    neighbours: Int[Tensor, "batch words 8"] | None = None
    page_sizes: Int[Tensor, "batch 2"] | None = None

    def to(self, device: torch.device) -> "Batch":
        moved = {
            f.name: value.to(device, non_blocking=True)
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), Tensor)
        }
        return replace(self, **moved)


@dataclass(frozen=True)
class Mixture:
    """Which tokens pooling has made states of: each is a weighted sum. That layers mix tokens too, by attention, is not in it.

    Attributes:
        tokens: indices of input tokens.
        weights: their shares in the state, without gradient; 0 for padding.
    """

    tokens: Int[Tensor, "batch kept group"]
    weights: Float[Tensor, "batch kept group"]

    def after(self, before: "Mixture") -> "Mixture":
        """The same of the tokens that `before` is of, where this is of the states of `before`."""
        rows = torch.arange(len(self.tokens), device=self.tokens.device)[:, None, None]
        weights = self.weights[..., None] * before.weights[rows, self.tokens]
        return Mixture(before.tokens[rows, self.tokens].flatten(2), weights.flatten(2))


@dataclass(frozen=True)
class Encoded:
    """States of an architecture.

    Attributes:
        states: one vector per kept token.
        mask: True on states that stand for real tokens.
        origin: index of the input token that each state came from, so that tasks work for architectures that drop tokens.
        mixture: what pooled states are made of; absent where nothing is pooled, or not by weighted sums.
    """

    states: Float[Tensor, "batch kept width"]
    mask: Bool[Tensor, "batch kept"]
    origin: Int[Tensor, "batch kept"]
    mixture: Mixture | None = None


class Encoder(Protocol):
    """What a task needs of an architecture's module."""

    width: int
    """Width of the states."""
    max_length: int
    """Longest window that the module takes, in tokens."""
    norm_epsilon: float
    """Of its LayerNorms; heads have the same."""
    word_embedding: nn.Embedding
    """Token table, for heads whose decoder is tied to it."""

    def __call__(self, batch: Batch) -> Encoded: ...


@runtime_checkable
class Scheduled(Protocol):
    """An encoder that changes in the course of its training."""

    def reach(self, progress: float) -> None:
        """Called before each step with the share of training that is done: 0 ≤ `progress` < 1, the same on every worker."""
        ...


@runtime_checkable
class HasLayoutAutoencoder(Protocol):
    """An encoder whose layout embedding sees bitmaps of where words stand round each word, and can be trained by itself."""

    def layout_autoencoder(self) -> nn.Module:
        """That embedding.

        Raises:
            InputError: when its configuration gives it another one.
        """
        ...

    def survey(self, batch: Batch) -> tuple[Float[Tensor, "found 1 height width"], Float[Tensor, "found size"]]:
        """The bitmaps round all words of a batch, window by window, and the vector that is made of each."""
        ...


@runtime_checkable
class Pools(Protocol):
    """An encoder that may keep fewer states than there are tokens."""

    mixes: bool
    """Whether its states come with their `mixture`."""


@runtime_checkable
class Skims(Protocol):
    """An encoder whose attention is decided by layout alone, once for all its layers."""

    def skim(self, batch: Batch) -> Float[Tensor, "batch heads length length"]:
        """The probability with which each token (the rows) attends to each token."""
        ...


@runtime_checkable
class Attends(Protocol):
    """An encoder that shows the attention of each of its layers."""

    layers: nn.ModuleList

    def attention(self, batch: Batch, layer: int) -> Float[Tensor, "batch heads length length"]:
        """The probability with which each token (the rows) attends to each token in layer `layer`, counted from 0.

        Raises:
            InputError: when there is no such layer.
        """
        ...
