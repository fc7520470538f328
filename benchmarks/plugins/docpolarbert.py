"""DocPolarBERT: "A Pre-trained Model for Document Understanding with Relative Polar Coordinate Encoding of Layout".

EACL 2026, arXiv:2507.08606.

A BERT that knows where tokens stand only relative to each other: there are no embeddings of boxes. For each pair of
tokens, vectors of their distance in the text, their distance on the page and their direction are added to the key
(`relative_keys`). Training starts from a trained text encoder.

    symbol             name here                            meaning
    text, 1D position  word_, position_, segment_embedding
    relative 1D        relative_keys.sequential             of the distance in tokens, in 32 buckets up to 128
    ρ                  relative_keys.distance               of the distance of two centres, in quarters
    θ                  relative_keys.direction              of the direction from the query to the key, in 12 classes
    s_ij               q_i·(k_j + a_1D + a_ρ + a_θ)/√d      score of a query and a key; heads and layers share a

Boxes are in thousandths of width and height. Borders of the quarters are the quartiles of all distances between two
tokens of the window. Directions are right, above, left and below where the boxes overlap in y or in x, else eight
sectors of 45 degrees. A token is in a class of its own to itself. Special tokens have a box without area; pairs with
such a box have neither distance nor direction.

Formulas and classes are those of the authors' code (github.com/buthaya/docpolarbert, MIT), and the states are equal
(`benchmarks/tests/test_docpolarbert.py`). Their weights were not at hand.

Departures from that code:
- Quartiles are those of each window, so that a window's result does not depend on its batch. Theirs are of a batch.
- All tables learn, and start at zero, which leaves a trained encoder unchanged at first. Theirs start from
  N(0, 0.02²), and their table of distances in the text gets no gradient.
- A pair with a box without area has no direction. Theirs has one if the boxes overlap in x or in y. In their code, a
  distance of exactly 5 is taken for such a pair.
- `relative_keys = "scaled"` multiplies the tables by 10, for short trainings. The factor was not tuned.
- Their positions count from 0 and there are two segments, as with `core = "bert"` and `segments = 2`.
- Tasks are those of `layoutray`; their second pretraining task, the prediction of positions, is not here.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from benchmarks.plugins.relative_keys import RelativeKeys
from layoutray.architectures import Architecture, CoreConfig, text_encoder
from layoutray.nn.block import LAYER_NORM_EPSILON, bert_layers
from layoutray.nn.gentle import set_to_zero
from layoutray.nn.initialise import initialise
from layoutray.nn.relative_bias import BUCKETS, pairwise_differences, relative_buckets
from layoutray.nn.weight_names.bert import FROM_PEER
from layoutray.tensors import Batch, Encoded

FARTHEST_IN_TEXT = 128
QUARTERS = 4
DISTANCES = 1 + QUARTERS
"""Classes of distances: the smallest one (0, of a token to itself), and the quarters."""
DIRECTIONS = 13
"""Classes of directions: the token itself; right, above, left, below; eight sectors counter-clockwise from right."""
SCALE = 10.0
"""Factor of `scaled` tables: at a learning rate of 3e-4, 300 steps of Adam move a number by at most 0.05."""


@dataclass(frozen=True, kw_only=True)
class DocPolarBertConfig(CoreConfig):
    """The defaults are RoBERTa-base.

    Attributes:
        relative_keys: `plain`, or `scaled` by 10 for short trainings.
    """

    relative_keys: Literal["plain", "scaled"] = "plain"


class PolarKeys(nn.Module):
    """The vectors of three relations: distance in the text, distance on the page, and direction."""

    def __init__(self, config: DocPolarBertConfig) -> None:
        super().__init__()
        size = config.hidden // config.heads
        self.scale = 1.0 if config.relative_keys == "plain" else SCALE
        self.sequential = nn.Embedding(BUCKETS, size)
        self.distance = nn.Embedding(DISTANCES, size)
        self.direction = nn.Embedding(DIRECTIONS, size)

    def forward(self, boxes: Int[Tensor, "batch length 4"], mask: Bool[Tensor, "batch length"]) -> RelativeKeys:
        """The relations of all pairs of tokens; boxes are in thousandths of the page."""
        tables = [self.sequential.weight, self.distance.weight, self.direction.weight]
        nothing = tables[0].new_zeros(1, tables[0].shape[1])
        vectors = self.scale * torch.cat([*tables, nothing])
        positions = torch.arange(boxes.shape[1], device=boxes.device)
        sequential = relative_buckets(pairwise_differences(positions.unsqueeze(0)), FARTHEST_IN_TEXT)
        apart = ~pairs_with_area(boxes)
        distances = (BUCKETS + distance_classes(boxes)).masked_fill(apart, len(vectors) - 1)
        directions = direction_classes(boxes)
        directions = (BUCKETS + DISTANCES + directions).masked_fill(apart & (directions > 0), len(vectors) - 1)
        return RelativeKeys(vectors, (sequential, distances, directions), mask)


def pairs_with_area(boxes: Int[Tensor, "batch length 4"]) -> Bool[Tensor, "batch length length"]:
    """Whether both boxes are wider or higher than nothing; those of special tokens and of padding are not."""
    placed = (boxes[..., :2] != boxes[..., 2:]).any(-1)
    return placed.unsqueeze(-1) & placed.unsqueeze(-2)


def distance_classes(boxes: Int[Tensor, "batch length 4"]) -> Int[Tensor, "batch length length"]:
    """0 for the smallest distance of the window, 1 to `QUARTERS` for the quarters. Without area, any class."""
    centres = (boxes[..., :2] + boxes[..., 2:]) / 2
    distances = pairwise_differences(centres.transpose(-1, -2)).pow(2).sum(1).sqrt()
    pairs = pairs_with_area(boxes)
    ordered = distances.masked_fill(~pairs, math.inf).flatten(1).sort(1).values
    last = (pairs.sum((1, 2)) - 1).clamp(min=0)
    ranks = last.unsqueeze(1) * torch.linspace(0, 1, QUARTERS + 1, device=boxes.device)
    below, above = (ordered.gather(1, whole.long()) for whole in (ranks.floor(), ranks.ceil()))
    borders = torch.lerp(below, above, ranks.frac())
    return torch.searchsorted(borders, distances.flatten(1)).clamp(max=QUARTERS).view_as(distances)


def direction_classes(boxes: Int[Tensor, "batch length 4"]) -> Int[Tensor, "batch length length"]:
    """The class of the direction from each query (rows) to each key (columns).

    0 is the token itself. Where boxes overlap in y, a key is 1, to the right, or 3, to the left. Where they overlap in
    x, it is 2, above, or 4, below, also where they overlap in both. Else it is 5 plus the sector of 45 degrees.
    """
    right, down = (pairwise_differences(boxes[..., side] + boxes[..., side + 2]).float() for side in (0, 1))
    degrees = (360 - torch.atan2(down, right) * 180 / math.pi) % 360
    same_column, same_line = (_overlap(boxes[..., side], boxes[..., side + 2]) for side in (0, 1))
    classes = (degrees // 45).long() + 5
    classes = classes.masked_fill(same_line & ((degrees < 90) | (degrees > 270)), 1)
    classes = classes.masked_fill(same_line & (degrees > 90) & (degrees < 270), 3)
    classes = classes.masked_fill(same_column & (degrees < 180), 2)
    classes = classes.masked_fill(same_column & (degrees > 180), 4)
    return classes.masked_fill(torch.eye(boxes.shape[1], dtype=torch.bool, device=boxes.device), 0)


def _overlap(
    start: Int[Tensor, "batch length"], end: Int[Tensor, "batch length"]
) -> Bool[Tensor, "batch length length"]:
    """Whether two intervals have a point in common."""
    return (end.unsqueeze(-1) >= start.unsqueeze(-2)) & (end.unsqueeze(-2) >= start.unsqueeze(-1))


class DocPolarBert(nn.Module):
    """A BERT or RoBERTa whose keys depend on where the query stands. Weights start as RoBERTa's, and tables as zero."""

    def __init__(self, config: DocPolarBertConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = config.norm_epsilon
        self.first_position = pad_id + 1 if config.core == "roberta" else 0
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.position_embedding = nn.Embedding(self.first_position + config.max_length, config.hidden)
        self.segment_embedding = nn.Embedding(config.segments, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)
        self.relative_keys = PolarKeys(config)
        self.layers = bert_layers(config)
        initialise(self, config.hidden)
        set_to_zero(self.relative_keys)

    def forward(self, batch: Batch) -> Encoded:
        states = self.embed(batch.input_ids)
        scorer = self.relative_keys(batch.boxes, batch.mask)
        for layer in self.layers:
            states = layer(states, scorer)
        return Encoded.of_all_tokens(states, batch.mask)

    def embed(self, input_ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        """The input of the layers, with dropout."""
        positions = self.position_embedding.weight[self.first_position :][: input_ids.shape[1]]
        text = self.word_embedding(input_ids) + self.segment_embedding.weight[0] + positions
        return self.dropout(self.norm(text))


ARCHITECTURE = Architecture(
    name="docpolarbert",
    config=DocPolarBertConfig,
    sizes={
        "tiny": DocPolarBertConfig(hidden=128, layers=2, heads=4, feed_forward=512),
        "small": DocPolarBertConfig(hidden=256, layers=4, heads=4, feed_forward=1024),
        "minilm": DocPolarBertConfig(
            core="bert",
            relative_keys="scaled",
            hidden=384,
            layers=6,
            feed_forward=1536,
            segments=2,
            norm_epsilon=LAYER_NORM_EPSILON,
        ),
        "base": DocPolarBertConfig(),
    },
    build=DocPolarBert,
    initialise=initialise,
    inherits={"hf": text_encoder(FROM_PEER)},
)
