"""DocPolarBERT: "A Pre-trained Model for Document Understanding with Relative Polar Coordinate Encoding of Layout".

EACL 2026, arXiv:2507.08606.

A BERT that knows where tokens stand only relative to each other: there are no embeddings of boxes. For each pair of
tokens, the distance and the direction from one box to the other, in polar coordinates, change the attention score.
Distances are cut into buckets at quantiles. Training starts from a trained text encoder.

    symbol             name here                         meaning
    text, 1D position  word_, position_, segment_embedding
    ρ                  polar_bias.distance               distance of two centres, in thousandths of width and height
    θ                  polar_bias.direction              direction from the query's centre to the key's
    s_ij               (q_i·k_j)/√d + b_ρ + b_θ          score of a query and a key; biases differ by head

What stands above is what the paper's abstract and reviews of it state, together with its name. Its formulas, its
hyper-parameters and its published weights were not at hand, so this file has not been compared with them. These choices
are ours:
- Both biases are numbers per head that are added to the score, the form of LayoutLMv3's Cartesian biases, whose place
  they take. A form that multiplies queries with embeddings of ρ and θ would also fit the abstract.
- A token stands at the centre of its word's box; special tokens at the page's top left corner.
- 32 buckets of ρ. Their borders are quantiles of 3 million pairs of words on the training pages of FUNSD, CORD and
  SROIE, a million each. Those of the paper come from its own pretraining pages.
- 16 sectors of θ; the first four directions (right, down, left, up) are centres of sectors. A pair in the same place
  has no direction, and a sector of its own.
- Biases are shared by all layers and start at zero, which leaves a trained encoder unchanged at first. `polar_bias =
  "scaled"` multiplies them by 30, for short trainings (`nn.relative_bias`).
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from layoutray.architectures import Architecture, Parent, check_heads, check_ranges
from layoutray.nn.attention import SelfAttention, mask_keys
from layoutray.nn.block import LAYER_NORM_EPSILON, EncoderLayer
from layoutray.nn.initialise import initialise
from layoutray.nn.relative_bias import BIAS_SCALE, pairwise_differences
from layoutray.nn.weight_names.bert import FROM_PEER
from layoutray.tensors import Batch, Encoded

DISTANCES = (
    *(54, 78, 99, 119, 138, 157, 176, 196, 215, 235, 254, 273, 292, 311, 330, 350),
    *(370, 390, 411, 432, 454, 476, 499, 523, 548, 575, 605, 638, 675, 720, 784),
)
"""Borders between buckets of distances, in thousandths; a distance on a border belongs to the upper bucket."""
SECTORS = 16
"""Sectors of directions. Number `SECTORS` stands for the same place."""


@dataclass(frozen=True)
class DocPolarBertConfig:
    """The defaults are RoBERTa-base.

    Attributes:
        core: the underlying encoder, which determines the first position: pad id + 1 in `roberta`, 0 in `bert`.
        polar_bias: `plain`, or `scaled` by 30 for short trainings.
        hidden: width of the states.
        layers: number of layers.
        heads: attention heads per layer.
        feed_forward: inner width of feed-forward blocks.
        dropout: on embeddings, updates and heads.
        attention_dropout: on attention probabilities.
        max_length: maximum length of a window in tokens; size of the position table, to which RoBERTa adds pad id + 1
            rows.
        segments: size of the segment table, of which only the first row is used; RoBERTa has 1, BERT 2.
        norm_epsilon: epsilon of LayerNorms; RoBERTa has 1e-5, BERT 1e-12.
    """

    core: Literal["roberta", "bert"] = "roberta"
    polar_bias: Literal["plain", "scaled"] = "plain"
    hidden: int = 768
    layers: int = 12
    heads: int = 12
    feed_forward: int = 3072
    dropout: float = 0.1
    attention_dropout: float = 0.1
    max_length: int = 512
    segments: int = 1
    norm_epsilon: float = 1e-5

    def __post_init__(self) -> None:
        check_ranges(self, smallest={})
        check_heads(self, "hidden", "heads")


class PolarBias(nn.Module):
    """b_ρ + b_θ: a bias of the distance and one of the direction from the query's centre to the key's."""

    borders: Tensor

    def __init__(self, config: DocPolarBertConfig) -> None:
        super().__init__()
        self.scale = 1.0 if config.polar_bias == "plain" else BIAS_SCALE
        self.distance = nn.Embedding(len(DISTANCES) + 1, config.heads)
        self.direction = nn.Embedding(SECTORS + 1, config.heads)
        self.register_buffer("borders", torch.tensor(DISTANCES), persistent=False)

    @torch.no_grad()
    def reset(self) -> None:
        """Set both tables to zero."""
        self.distance.weight.zero_()
        self.direction.weight.zero_()

    def forward(self, boxes: Int[Tensor, "batch length 4"]) -> Float[Tensor, "batch heads length length"]:
        """The bias of each query (rows) and key (columns); boxes are in thousandths of the page."""
        distances, sectors = polar_buckets(boxes, self.borders)
        return self.scale * (self.distance(distances) + self.direction(sectors)).permute(0, 3, 1, 2)


def polar_buckets(
    boxes: Int[Tensor, "batch length 4"], borders: Int[Tensor, " buckets"]
) -> tuple[Int[Tensor, "batch length length"], Int[Tensor, "batch length length"]]:
    """Bucket of the distance, and sector of the direction, from each query (rows) to each key (columns).

    Sectors are numbered clockwise on the page, from the one around the direction to the right.
    """
    # Twice the centres are whole numbers, so that distances are compared exactly.
    right = pairwise_differences(boxes[..., 0] + boxes[..., 2])
    down = pairwise_differences(boxes[..., 1] + boxes[..., 3])
    squared = right**2 + down**2
    distances = torch.bucketize(squared, 4 * borders**2, right=True)
    turns = torch.atan2(down.float(), right.float()) / (2 * math.pi)
    sectors = (turns * SECTORS).round().long() % SECTORS
    return distances, sectors.masked_fill(squared == 0, SECTORS)


class DocPolarBert(nn.Module):
    """A BERT or RoBERTa with polar biases in its attention scores."""

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
        self.polar_bias = PolarBias(config)
        self.layers = nn.ModuleList(_layer(config) for _ in range(config.layers))

    def forward(self, batch: Batch) -> Encoded:
        states = self.embed(batch.input_ids)
        visible = mask_keys(self.polar_bias(batch.boxes), batch.mask)
        for layer in self.layers:
            states = layer(states, visible)
        return Encoded.of_all_tokens(states, batch.mask)

    def embed(self, input_ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        """The input of the layers, with dropout."""
        positions = self.position_embedding.weight[self.first_position :][: input_ids.shape[1]]
        text = self.word_embedding(input_ids) + self.segment_embedding.weight[0] + positions
        return self.dropout(self.norm(text))


def _layer(config: DocPolarBertConfig) -> EncoderLayer:
    attention = SelfAttention(config.hidden, config.heads, config.attention_dropout)
    return EncoderLayer(
        attention, config.hidden, feed_forward=config.feed_forward, dropout=config.dropout, epsilon=config.norm_epsilon
    )


def build(config: DocPolarBertConfig, *, vocab_size: int, pad_id: int) -> DocPolarBert:
    """A DocPolarBERT with RoBERTa's initial weights and with biases of zero."""
    encoder = DocPolarBert(config, vocab_size=vocab_size, pad_id=pad_id)
    initialise(encoder, config.hidden)
    encoder.polar_bias.reset()
    return encoder


ARCHITECTURE = Architecture(
    name="docpolarbert",
    config=DocPolarBertConfig,
    sizes={
        "tiny": DocPolarBertConfig(hidden=128, layers=2, heads=4, feed_forward=512),
        "small": DocPolarBertConfig(hidden=256, layers=4, heads=4, feed_forward=1024),
        "minilm": DocPolarBertConfig(
            core="bert",
            polar_bias="scaled",
            hidden=384,
            layers=6,
            feed_forward=1536,
            segments=2,
            norm_epsilon=LAYER_NORM_EPSILON,
        ),
        "base": DocPolarBertConfig(),
    },
    build=build,
    initialise=initialise,
    inherits={
        "hf": Parent(
            FROM_PEER, shared={"model_type": "core", **{name: name for name in ("layers", "heads", "norm_epsilon")}}
        )
    },
)
