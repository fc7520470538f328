"""Super-tokens: word states by graph convolutions over the neighbours on the page (FormNet, arXiv:2203.08411).

A graph convolution sends each word a message from each of its at most 8 neighbours. A stack of graph convolutions
encodes the layout around each word. The graph is stored as lists of neighbours: time and memory are linear in the
number of words.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.block import AddAndNorm
from layoutray.tensors import BOX_GRID

EDGE_FEATURES = 11
NODE_FEATURES = 6

_STEP = 1 / BOX_GRID
"""Smallest difference between coordinates, as a share of the page."""


def node_features(boxes: Float[Tensor, "batch words 4"]) -> Float[Tensor, "batch words 6"]:
    """x0, y0, x1, y1, height and width of each box, as shares of the page."""
    return torch.cat([boxes, _sizes(boxes).flip(-1)], -1)


def edge_features(
    boxes: Float[Tensor, "batch words 4"], neighbours: Int[Tensor, "batch words most"]
) -> Float[Tensor, "batch words most 11"]:
    """Position of each neighbour relative to the word; zeros where there is no neighbour.

    The features: differences (neighbour minus word) along x and y of the centres, of the top left corners and of the
    bottom right corners; gaps between the boxes along x and y, 0 if the boxes overlap; height/width of the word, of the
    neighbour and of the smallest box that contains both. The paper lists these features without formulas. A box of
    width 0 counts as one thousandth of the page wide, which keeps its ratio finite.

    Args:
        boxes: x0 y0 x1 y1 as shares of the page.
        neighbours: word numbers, padded with -1.
    """
    word, other = boxes.unsqueeze(2), gather_rows(boxes, neighbours)
    first, last = word[..., :2], word[..., 2:]
    other_first, other_last = other[..., :2], other[..., 2:]
    covering = torch.cat([torch.minimum(first, other_first), torch.maximum(last, other_last)], -1)
    features = torch.cat(
        [
            (other_first + other_last - first - last) / 2,
            other_first - first,
            other_last - last,
            (torch.maximum(first, other_first) - torch.minimum(last, other_last)).clamp(min=0),
            _aspect(word).expand(*other.shape[:-1], 1),
            _aspect(other),
            _aspect(covering),
        ],
        -1,
    )
    return features.masked_fill((neighbours < 0).unsqueeze(-1), 0.0)


class GraphConvolution(nn.Module):
    """LN(h_k + Dropout(Σ_l α_kl m_kl)) with messages m_kl = MLP₂([h_k; h_l; e_kl]) and single-head attention weights α.

    Queries are projections of h_k; the messages are both keys and values. A layer thus has 4 matrices of width × width,
    which matches the paper's parameter counts. The first linear map of the MLP is split into one map per part of the
    concatenation: the maps of h_k and h_l are computed once per word instead of once per edge. A word without
    neighbours becomes LN(h_k).
    """

    def __init__(self, width: int, dropout: float, epsilon: float) -> None:
        super().__init__()
        self.word = nn.Linear(width, width)
        self.neighbour = nn.Linear(width, width, bias=False)
        self.edge = nn.Linear(EDGE_FEATURES, width, bias=False)
        self.message = nn.Linear(width, width)
        self.query = nn.Linear(width, width)
        self.join = AddAndNorm(width, dropout, epsilon)

    def forward(
        self,
        states: Float[Tensor, "batch words width"],
        edges: Float[Tensor, "batch words most 11"],
        neighbours: Int[Tensor, "batch words most"],
    ) -> Float[Tensor, "batch words width"]:
        parts = self.word(states).unsqueeze(2) + gather_rows(self.neighbour(states), neighbours) + self.edge(edges)
        messages = self.message(functional.gelu(parts))
        scores = (messages @ self.query(states).unsqueeze(-1)).squeeze(-1) / math.sqrt(states.shape[-1])
        absent = neighbours < 0
        shares = scores.masked_fill(absent, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(absent, 0.0)
        return self.join(states, (shares.to(messages.dtype).unsqueeze(-2) @ messages).squeeze(-2))


class SuperTokens(nn.Module):
    """Maps the states of tokens to the super-token of each token's word.

    The initial state of a word is the projection of [mean of its tokens' states; `node_features` of its box].
    """

    def __init__(self, width: int, layers: int, dropout: float, epsilon: float) -> None:
        super().__init__()
        self.node = nn.Linear(width + NODE_FEATURES, width)
        self.layers = nn.ModuleList(GraphConvolution(width, dropout, epsilon) for _ in range(layers))

    def forward(
        self,
        states: Float[Tensor, "batch length width"],
        boxes: Int[Tensor, "batch length 4"],
        word_index: Int[Tensor, "batch length"],
        neighbours: Int[Tensor, "batch words most"],
    ) -> Float[Tensor, "batch length width"]:
        """The super-token of each token's word; zeros on special and padding tokens.

        Args:
            boxes: integers 0..`BOX_GRID`; all tokens of a word have its box.
            word_index: number of each token's word, -1 if it has none.
            neighbours: neighbours of each word, padded with -1.
        """
        words = neighbours.shape[1]
        # Not in the type of the states: under autocast it is too coarse for coordinates.
        word_boxes = word_means(boxes.to(self.node.weight.dtype) * _STEP, word_index, words)
        edges = edge_features(word_boxes, neighbours)
        nodes = self.node(torch.cat([word_means(states, word_index, words), node_features(word_boxes)], -1))
        for layer in self.layers:
            nodes = layer(nodes, edges, neighbours)
        return gather_rows(nodes, word_index)


def gather_rows(
    rows: Float[Tensor, "batch words width"], index: Int[Tensor, "batch *any"]
) -> Float[Tensor, "batch *any width"]:
    """The row of `rows` at each index; zeros where the index is -1."""
    padded = functional.pad(rows, (0, 0, 1, 0))
    flat = (index + 1).flatten(1).unsqueeze(-1).expand(-1, -1, rows.shape[-1])
    return padded.gather(1, flat).unflatten(1, index.shape[1:])


def word_means(
    values: Float[Tensor, "batch length width"], word_index: Int[Tensor, "batch length"], words: int
) -> Float[Tensor, "batch words width"]:
    """The mean over the tokens of each word; zeros for words without tokens."""
    slot = (word_index + 1).unsqueeze(-1)
    sums = values.new_zeros(len(values), words + 1, values.shape[-1]).scatter_add(1, slot.expand_as(values), values)
    counts = values.new_zeros(len(values), words + 1, 1).scatter_add(1, slot, values.new_ones(slot.shape))
    return (sums / counts.clamp(min=1))[:, 1:]


def _sizes(boxes: Float[Tensor, "*any 4"]) -> Float[Tensor, "*any 2"]:
    return boxes[..., 2:] - boxes[..., :2]


def _aspect(boxes: Float[Tensor, "*any 4"]) -> Float[Tensor, "*any 1"]:
    width, height = _sizes(boxes).split(1, -1)
    return height / width.masked_fill(width == 0, _STEP)
