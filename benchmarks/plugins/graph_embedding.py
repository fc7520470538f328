"""A layout embedding by graph isomorphism networks: the appendix of LAMBERT (arXiv:2002.08087, first version).

The node of a word aggregates the boxes of the nearest words (GIN, "How Powerful are Graph Neural Networks?",
arXiv:1810.00826). It is layout `graph` of LAMBERT.

Departures from the paper: nodes are words, not sub-word tokens; node features are boxes; neighbour lists are not made
mutual; LayerNorm replaces GIN's batch normalisation, which would mix documents.
"""

from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray.architectures.lambert import LambertConfig, TokenPlaces, linear_adapter
from layoutray.nn.super_tokens import gather_rows, word_means

_NEAREST = 5
_HIDDEN = 64
_BLOCKS = 3
WIDTH = 128


class GraphIsomorphism(nn.Module):
    """MLP((1 + ε) h_k + Σ_l h_l) over the neighbours l of k, ε = 0; the MLP has blocks of linear, LayerNorm, ReLU."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        widths = [inputs, *[_HIDDEN] * (_BLOCKS - 1), outputs]
        self.blocks = nn.Sequential(
            *(
                nn.Sequential(nn.Linear(before, after), nn.LayerNorm(after), nn.ReLU())
                for before, after in pairwise(widths)
            )
        )

    def forward(
        self, states: Float[Tensor, "batch words inputs"], neighbours: Int[Tensor, "batch words most"]
    ) -> Float[Tensor, "batch words outputs"]:
        return self.blocks(states + gather_rows(states, neighbours).sum(2))


class GraphEmbedding(nn.Module):
    """Maps the boxes of tokens to a vector of 128 numbers each; zeros on special and padding tokens."""

    width = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.near = GraphIsomorphism(4, _HIDDEN)
        self.far = GraphIsomorphism(_HIDDEN, WIDTH)

    def forward(
        self, shares: Float[Tensor, "batch length 4"], word_index: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length 128"]:
        """Layout vectors of tokens.

        Args:
            shares: x0 y0 x1 y1 as shares of the page's width and height; all tokens of a word have its box.
            word_index: number of each token's word, -1 if it has none.
        """
        slots = shares.shape[1]  # a window has at most as many words as tokens
        boxes = word_means(shares, word_index, slots)
        is_word = torch.arange(slots, device=shares.device) <= word_index.amax(1, keepdim=True)
        neighbours = nearest_words(boxes[..., :2], is_word)
        with torch.autocast(shares.device.type, enabled=False):  # coordinates need full precision
            return gather_rows(self.far(self.near(boxes, neighbours), neighbours), word_index)


def nearest_words(
    corners: Float[Tensor, "batch words 2"], is_word: Bool[Tensor, "batch words"]
) -> Int[Tensor, "batch words most"]:
    """The 5 nearest other words of each word by the ℓ^½ distance (√|Δx| + √|Δy|)², padded with -1.

    At equal distance, the word that comes first is nearer.
    """
    distance = (corners.unsqueeze(2) - corners.unsqueeze(1)).abs().sqrt().sum(-1)
    itself = torch.eye(corners.shape[1], dtype=torch.bool, device=corners.device)
    by_distance = distance.masked_fill(itself | ~is_word.unsqueeze(1), torch.inf).sort(dim=-1, stable=True)
    no_neighbour = by_distance.values[..., :_NEAREST].isinf() | ~is_word.unsqueeze(2)
    return by_distance.indices[..., :_NEAREST].masked_fill(no_neighbour, -1)


class GraphLayout(nn.Module):
    """L(ℓ) with ℓ from the graph networks."""

    def __init__(self, config: LambertConfig) -> None:
        super().__init__()
        self.embedding = GraphEmbedding()
        self.adapter = linear_adapter(self.embedding.width, config)

    def forward(self, places: TokenPlaces) -> Float[Tensor, "batch length width"]:
        return self.adapter(self.embedding(places.shares, places.word_index))


LAYOUT = GraphLayout
