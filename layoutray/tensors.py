"""Inputs and outputs of models: a batch of token windows in, encoded states out.

Names of dimensions in signatures: `batch`, `length` (tokens), `words`, `width` (of states), `labels`, `vocabulary`.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

BOX_GRID = 1000
"""Models get box coordinates as integers 0..BOX_GRID: thousandths of the page's width or height."""


Kind = TypeVar("Kind", bound="_HasTensors")


class _HasTensors:
    """A dataclass whose fields are tensors, other such dataclasses, or plain values."""

    def to(self: Kind, device: torch.device) -> Kind:
        """With all tensors on `device`. The copy runs beside other work if the tensors are `pinned`."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self: Kind) -> Kind:
        """With all tensors in page-locked memory, from which a GPU copies by itself."""
        return self._map(Tensor.pin_memory)

    def _map(self: Kind, change: Callable[[Tensor], Tensor]) -> Kind:
        own: Any = self
        return replace(own, **{field.name: _changed(getattr(self, field.name), change) for field in fields(own)})


def _changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, _HasTensors):
        return value._map(change)  # pyright: ignore[reportPrivateUsage]
    return change(value) if isinstance(value, Tensor) else value


@dataclass(frozen=True)
class Places(_HasTensors):
    """Where some tokens of a batch stand: tokens in one row, window after window, and the same in padded windows.

    Attributes:
        index: number of each token in the padded windows, counted through all of them.
        lengths: number of tokens of each window.
        length: tokens of a padded window.
    """

    index: Int[Tensor, " tokens"]
    lengths: tuple[int, ...]
    length: int

    @classmethod
    def of(cls, mask: Bool[Tensor, "batch length"]) -> "Places":
        """The places of the tokens where `mask` is True."""
        return cls(mask.flatten().nonzero().squeeze(1), tuple(mask.sum(1).tolist()), mask.shape[1])

    def pack(self, padded: Shaped[Tensor, "batch length *rest"]) -> Shaped[Tensor, "1 tokens *rest"]:
        return padded.flatten(0, 1).index_select(0, self.index).unsqueeze(0)

    def unpack(self, row: Shaped[Tensor, "1 tokens *rest"]) -> Shaped[Tensor, "batch length *rest"]:
        """The tokens in padded windows; padding is 0."""
        padded = row.new_zeros(len(self.lengths) * self.length, *row.shape[2:])
        return padded.index_copy(0, self.index, row.squeeze(0)).unflatten(0, (len(self.lengths), self.length))

    def mask(self) -> Bool[Tensor, "batch length"]:
        """True on the tokens of padded windows, False on padding."""
        real = torch.ones(1, len(self.index), dtype=torch.bool, device=self.index.device)
        return self.unpack(real)


@dataclass(frozen=True)
class Packing(_HasTensors):
    """The real tokens of a batch, and which of them have targets.

    Attributes:
        tokens: the real tokens.
        targets: the tokens with a target, as windows of their own.
        target_index: number of each token with a target among the real tokens.
    """

    tokens: Places
    targets: Places
    target_index: Int[Tensor, " targets"]


@dataclass(frozen=True, kw_only=True)
class Batch(_HasTensors):
    """Windows of tokens, padded to one length.

    Attributes:
        input_ids: token ids; padding has the tokenizer's pad id.
        boxes: x0 y0 x1 y1 as integers 0..`BOX_GRID`; zeros on special and padding tokens.
        mask: True on real tokens, special tokens included; False on padding.
        labels: the target of each token, or the token ids of the text to generate, end token included; -100 where
            there is no target. None without annotation.
        word_index: number of each token's word within the window, from 0; -1 on special and padding tokens.
        neighbours: edges of the word graph: the neighbours of each word on the page, nearest first, padded with -1.
        page_sizes: width and height of each window's page, in pixels.
        packing: for encoders that can compute the real tokens alone (`PacksTokens`); None lets them compute padding.
        names: of what the windows are asked for, for a head that reads names.
    """

    input_ids: Int[Tensor, "batch length"]
    boxes: Int[Tensor, "batch length 4"]
    mask: Bool[Tensor, "batch length"]
    labels: Int[Tensor, "batch targets"] | None = None
    word_index: Int[Tensor, "batch length"] | None = None
    neighbours: Int[Tensor, "batch words 8"] | None = None
    page_sizes: Int[Tensor, "batch 2"] | None = None
    packing: Packing | None = None
    names: "Names | None" = None


@dataclass(frozen=True, kw_only=True)
class Names(_HasTensors):
    """The names of some kinds of entities, and which windows of a batch are asked for which of them.

    Attributes:
        windows: each name as a window of words without places.
        kinds: number of the kind of each name.
        asked: whether a window is asked for a name.
    """

    windows: Batch
    kinds: Int[Tensor, " names"]
    asked: Bool[Tensor, "batch names"]


@dataclass(frozen=True)
class Mixture:
    """The weighted sum of input tokens that pooling turned into each state. It ignores mixing by attention.

    Attributes:
        tokens: indices of input tokens.
        weights: weight of each token in the state, without gradient; 0 for padding.
    """

    tokens: Int[Tensor, "batch kept group"]
    weights: Float[Tensor, "batch kept group"]

    def compose(self, previous: "Mixture") -> "Mixture":
        """This mixture over the input tokens of `previous`; here, `tokens` are indices of the states of `previous`."""
        rows = torch.arange(len(self.tokens), device=self.tokens.device)[:, None, None]
        weights = self.weights[..., None] * previous.weights[rows, self.tokens]
        return Mixture(previous.tokens[rows, self.tokens].flatten(2), weights.flatten(2))


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """Output of an encoder.

    Attributes:
        states: one vector per kept token.
        mask: True on states of real tokens.
        origin: index of the input token of each state, so that tasks also work with encoders that drop tokens.
        mixture: which tokens were pooled into each state; None without pooling, or if pooling is no weighted sum.
        words: id of each input token that is part of a word, -1 of special tokens and padding, for decoders that copy;
            None if the batch does not tell its words.
        names: what the windows are asked for, and the encoded names; None if the batch has no names.
    """

    states: Float[Tensor, "batch kept width"]
    mask: Bool[Tensor, "batch kept"]
    origin: Int[Tensor, "batch kept"]
    mixture: Mixture | None = None
    words: Int[Tensor, "batch length"] | None = None
    names: "tuple[Names, Encoded] | None" = None

    @classmethod
    def of_all_tokens(
        cls, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> "Encoded":
        """The output of an encoder that keeps every token: state i belongs to token i."""
        return cls(
            states=states,
            mask=mask,
            origin=torch.arange(states.shape[1], device=states.device).expand(states.shape[:2]),
        )

    def in_input_order(
        self, scores: Float[Tensor, "batch kept labels"], length: int, certain: float
    ) -> Float[Tensor, "batch length labels"]:
        """The scores of the labels of all tokens in the order of the input, from those of the states.

        A token that the encoder has dropped is part of no entity: its first label has the score `certain`, others 0.
        """
        ordered = scores.new_zeros(len(scores), length, scores.shape[-1])
        ordered[..., 0] = certain
        row, kept = self.mask.nonzero(as_tuple=True)
        return ordered.index_put((row, self.origin[row, kept]), scores[row, kept])


class Encoder(Protocol):
    """The interface of an architecture's module that tasks use."""

    width: int
    """Width of the states."""
    max_length: int
    """Maximum length of a window, in tokens."""
    norm_epsilon: float
    """Epsilon of the LayerNorms; heads use the same."""
    word_embedding: nn.Embedding
    """Token embeddings, for heads with tied weights."""

    def __call__(self, batch: Batch) -> Encoded: ...


@runtime_checkable
class Scheduled(Protocol):
    """An encoder with a setting that changes during training."""

    def set_progress(self, progress: float) -> None:
        """Set the finished share of training, 0 ≤ `progress` < 1. Every worker calls this before each step."""
        ...


@runtime_checkable
class PoolsTokens(Protocol):
    """An encoder that may return fewer states than there are tokens."""

    has_mixture: bool
    """Whether `Encoded.mixture` is set."""


@runtime_checkable
class PacksTokens(Protocol):
    """An encoder that can compute the real tokens of a batch without its padding."""

    def target_states(self, batch: Batch) -> Float[Tensor, "targets width"]:
        """The states of the tokens with targets alone, of a batch with `packing`."""
        ...
