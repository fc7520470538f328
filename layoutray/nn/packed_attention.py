"""Attention in windows whose real tokens stand in one row, without padding."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from layoutray.nn.attention import KeysAndValues, VisibleKeys, weighted_values
from layoutray.tensors import Places


@dataclass(frozen=True)
class SameWindow:
    """A token sees all tokens of its window.

    Attributes:
        queries: places of the tokens that attend.
        keys: places of the tokens that are attended to.
    """

    queries: Places
    keys: Places

    def context(
        self, query: Float[Tensor, "1 heads queries size"], memory: KeysAndValues, dropout: nn.Dropout
    ) -> Float[Tensor, "1 heads queries size"]:
        """See `AttentionScorer`.

        A CPU computes window by window. A GPU, which is slow at many small products, pads the windows meanwhile.
        """
        if query.is_cuda:
            padded = KeysAndValues(*(in_windows(part, self.keys) for part in memory))
            visible = VisibleKeys.of_all_queries(self.keys.mask())
            return in_one_row(visible.context(in_windows(query, self.queries), padded, dropout), self.queries)
        windows = zip(by_window(query, self.queries), *(by_window(part, self.keys) for part in memory), strict=True)
        contexts = [weighted_values(query, KeysAndValues(*memory), None, dropout) for query, *memory in windows]
        return torch.cat(contexts, dim=2)


def by_window(
    states: Float[Tensor, "1 heads tokens size"], places: Places
) -> tuple[Float[Tensor, "1 heads _ size"], ...]:
    """The tokens of each window."""
    return states.split(places.lengths, dim=2)


def in_windows(
    states: Float[Tensor, "1 heads tokens size"], places: Places
) -> Float[Tensor, "batch heads length size"]:
    """The tokens in padded windows."""
    return places.unpack(states.transpose(1, 2)).transpose(1, 2)


def in_one_row(
    states: Float[Tensor, "batch heads length size"], places: Places
) -> Float[Tensor, "1 heads tokens size"]:
    """The tokens of padded windows in one row."""
    return places.pack(states.transpose(1, 2)).transpose(1, 2)
