"""A layout embedding that looks round: LAMBERT's appendix (arXiv:2002.08087, first version), with graph isomorphism networks.

Each word's node hears the boxes of the words nearest to it (GIN, "How Powerful are Graph Neural Networks?", arXiv:1810.00826).
"""

from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray.nn.word_graph import taken, word_means

_NEAREST = 5
_HIDDEN = 64
_BLOCKS = 3
WIDTH = 128


class GraphIsomorphism(nn.Module):
    """MLP((1 + ε) h_k + Σ_l h_l) over the neighbours l of k, with ε = 0; the MLP has blocks of linear, LayerNorm, ReLU."""

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
        return self.blocks(states + taken(states, neighbours).sum(2))


class GraphEmbedding(nn.Module):
    """From the boxes of tokens to a vector of 128 for each; zeros on special and padding tokens."""

    width = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.near = GraphIsomorphism(4, _HIDDEN)
        self.far = GraphIsomorphism(_HIDDEN, WIDTH)

    def forward(
        self, shares: Float[Tensor, "batch length 4"], word_index: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length 128"]:
        """Of boxes in shares of the page's width and height, so that both axes are alike; all tokens of a word have its box."""
        slots = shares.shape[1]  # there are no more words than tokens
        boxes = word_means(shares, word_index, slots)
        there = torch.arange(slots, device=shares.device) <= word_index.amax(1, keepdim=True)
        neighbours = nearest(boxes[..., :2], there)
        with torch.autocast(shares.device.type, enabled=False):  # shorter types are too coarse for places
            return taken(self.far(self.near(boxes, neighbours), neighbours), word_index)


def nearest(
    corners: Float[Tensor, "batch words 2"], there: Bool[Tensor, "batch words"]
) -> Int[Tensor, "batch words most"]:
    """The at most 5 nearest other words of each by the ℓ^½ distance (√|Δx| + √|Δy|)²; -1 where there are fewer, the first among equals."""
    distance = (corners.unsqueeze(2) - corners.unsqueeze(1)).abs().sqrt().sum(-1)
    itself = torch.eye(corners.shape[1], dtype=torch.bool, device=corners.device)
    found = distance.masked_fill(itself | ~there.unsqueeze(1), torch.inf).sort(dim=-1, stable=True)
    return found.indices[..., :_NEAREST].masked_fill(found.values[..., :_NEAREST].isinf() | ~there.unsqueeze(2), -1)
