"""Super-tokens: words that have looked at their neighbours on the page (FormNet, arXiv:2203.08411).

A graph convolution sends each word a message from each of its at most 8 neighbours; a stack of them gives the words states that
know the layout round them. Lists of neighbours stand for the graph, so time and memory are linear in the number of words.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.block import AddAndNorm

EDGE_FEATURES = 11
NODE_FEATURES = 6

_STEP = 1 / 1000
"""Of a batch's coordinates, in shares of the page."""


def node_features(boxes: Float[Tensor, "batch words 4"]) -> Float[Tensor, "batch words 6"]:
    """x0, y0, x1, y1, height and width of boxes in shares of the page."""
    return torch.cat([boxes, _sizes(boxes).flip(-1)], -1)


def edge_features(
    boxes: Float[Tensor, "batch words 4"], neighbours: Int[Tensor, "batch words most"]
) -> Float[Tensor, "batch words most 11"]:
    """How each neighbour lies to its word; zeros where there is no neighbour.

    Differences (neighbour less word) along x and y of the centres, of the top left and of the bottom right corners; the gaps
    between the boxes along x and y, 0 where they overlap; height over width of the word, of the neighbour and of the smallest
    box that holds both. The paper lists these and gives no formulas. A box without width counts as wide as the finest step of
    coordinates, a thousandth of the page, so that its ratio is finite.

    Args:
        boxes: in shares of the page.
        neighbours: numbers of words, -1 for none.
    """
    word, other = boxes.unsqueeze(2), taken(boxes, neighbours)
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
    """LN(h_k + Dropout(Σ_l α_kl m_kl)): messages m_kl = MLP₂([h_k; h_l; e_kl]) of the neighbours l, weighed by attention of one head.

    Queries come from h_k; the messages themselves are keys and values: so a layer has the 4 matrices of width × width that the
    paper's numbers of parameters leave room for. The first linear map of a concatenation is a sum of maps of its parts, so two of
    them are taken once per word instead of once per edge. A word without neighbours becomes LN(h_k).
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
        parts = self.word(states).unsqueeze(2) + taken(self.neighbour(states), neighbours) + self.edge(edges)
        messages = self.message(functional.gelu(parts))
        scores = (messages @ self.query(states).unsqueeze(-1)).squeeze(-1) / math.sqrt(states.shape[-1])
        absent = neighbours < 0
        shares = scores.masked_fill(absent, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(absent, 0.0)
        return self.join(states, (shares.to(messages.dtype).unsqueeze(-2) @ messages).squeeze(-2))


class SuperTokens(nn.Module):
    """From states of tokens to the super-token that each token's word has become.

    A word starts as the mean of its tokens' states beside the place and size of its box, projected to the width.
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
        """Zeros on special and padding tokens.

        Args:
            boxes: integers 0..1000; all tokens of a word have its box.
            word_index: number of each token's word, -1 where it has none.
            neighbours: of each word, -1 where there are fewer.
        """
        words = neighbours.shape[1]
        # Not in the states' type, which autocast may have made too coarse for places.
        word_boxes = word_means(boxes.to(self.node.weight.dtype) * _STEP, word_index, words)
        edges = edge_features(word_boxes, neighbours)
        nodes = self.node(torch.cat([word_means(states, word_index, words), node_features(word_boxes)], -1))
        for layer in self.layers:
            nodes = layer(nodes, edges, neighbours)
        return taken(nodes, word_index)


def _sizes(boxes: Float[Tensor, "*any 4"]) -> Float[Tensor, "*any 2"]:
    """Width and height."""
    return boxes[..., 2:] - boxes[..., :2]


def _aspect(boxes: Float[Tensor, "*any 4"]) -> Float[Tensor, "*any 1"]:
    """Height over width."""
    width, height = _sizes(boxes).split(1, -1)
    return height / width.masked_fill(width == 0, _STEP)


def taken(
    rows: Float[Tensor, "batch words width"], index: Int[Tensor, "batch *any"]
) -> Float[Tensor, "batch *any width"]:
    """The row of each number in `index`, zeros for -1."""
    padded = functional.pad(rows, (0, 0, 1, 0))
    flat = (index + 1).flatten(1).unsqueeze(-1).expand(-1, -1, rows.shape[-1])
    return padded.gather(1, flat).unflatten(1, index.shape[1:])


def word_means(
    values: Float[Tensor, "batch length width"], word_index: Int[Tensor, "batch length"], words: int
) -> Float[Tensor, "batch words width"]:
    """Over each word's tokens; zeros for words without any."""
    slot = (word_index + 1).unsqueeze(-1)
    sums = values.new_zeros(len(values), words + 1, values.shape[-1]).scatter_add(1, slot.expand_as(values), values)
    counts = values.new_zeros(len(values), words + 1, 1).scatter_add(1, slot, values.new_ones(slot.shape))
    return (sums / counts.clamp(min=1))[:, 1:]
