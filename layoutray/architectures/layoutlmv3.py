"""LayoutLMv3 without pictures, of "LayoutLMv3: Pre-training for Document AI with Unified Text and Image Masking".

ACM Multimedia 2022, arXiv:2204.08387.

A RoBERTa whose input embeddings also hold the box of each token: six coordinate embeddings side by side, as wide
together as the states. Attention scores get three biases, of the distance in the text and of the distances of left and
of lower edges. Training starts from a trained text encoder.

    symbol             name here                             meaning
    text embedding     word_embedding, segment_embedding     token embedding
    1D position        position_embedding                    sequential position
    2D position        boxes                                 X[x0] Y[y0] X[x1] Y[y1] H[height] W[width], side by side
    relative bias      relative_bias.sequential              of the distance in tokens, in 32 buckets up to 128
    spatial bias       relative_bias.horizontal, .vertical   of distances of x0 and of y1, in 64 buckets up to 256

Departures from the paper:
- There is no picture: no patches, no second LayerNorm over text and patches, and no pretraining tasks that need them.
  The published checkpoints were trained with pictures.
- All tokens of a word have the word's box; the paper takes the box of the segment.
- `start = "gentle"` scales the coordinate tables down, because they are not trained when a training from a text encoder
  starts. Biases start at zero in both.
- `relative_bias = "scaled"` multiplies the biases by 30, for short trainings (`nn.relative_bias`).
- A width that six does not divide is allowed: the four corners take a sixth each, the two sizes share the rest.

As in the transformers library, biases are divided by the root of the head size.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from layoutray.architectures import Architecture, CoreConfig, text_encoder
from layoutray.errors import InputError
from layoutray.nn.attention import VisibleKeys
from layoutray.nn.block import LAYER_NORM_EPSILON, bert_layers
from layoutray.nn.gentle import scale_down, set_to_zero
from layoutray.nn.initialise import initialise
from layoutray.nn.relative_bias import BIAS_SCALE, BUCKETS, pairwise_differences, relative_buckets
from layoutray.nn.weight_names.bert import FROM_PEER
from layoutray.tensors import Batch, Encoded

COORDINATES = 1024
"""Size of the coordinate tables."""
FARTHEST_IN_TEXT, FARTHEST_ON_PAGE = 128, 256
SPATIAL_BUCKETS = 64


@dataclass(frozen=True, kw_only=True)
class LayoutLMv3Config(CoreConfig):
    """The defaults are LayoutLMv3-base.

    Attributes:
        start: `paper` draws the coordinate tables from N(0, 0.02²); `gentle` takes a hundredth of that.
        relative_bias: `paper`, or `scaled` by 30 for short trainings.
    """

    start: Literal["paper", "gentle"] = "paper"
    relative_bias: Literal["paper", "scaled"] = "paper"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden % 2 or self.hidden < 6:
            raise InputError(
                f"hidden is {self.hidden}; it must be even and at least six, for six coordinate embeddings side by side"
            )

    @property
    def coordinate_size(self) -> int:
        """Width of the embedding of a corner's coordinate."""
        return self.hidden // 6

    @property
    def shape_size(self) -> int:
        """Width of the embedding of a height or width."""
        return (self.hidden - 4 * self.coordinate_size) // 2


class BoxesSideBySide(nn.Module):
    """X[x0] Y[y0] X[x1] Y[y1] H[y1−y0] W[x1−x0], side by side."""

    def __init__(self, config: LayoutLMv3Config) -> None:
        super().__init__()
        self.x = nn.Embedding(COORDINATES, config.coordinate_size)
        self.y = nn.Embedding(COORDINATES, config.coordinate_size)
        self.height = nn.Embedding(COORDINATES, config.shape_size)
        self.width = nn.Embedding(COORDINATES, config.shape_size)

    def forward(self, boxes: Int[Tensor, "batch length 4"]) -> Float[Tensor, "batch length width"]:
        x0, y0, x1, y1 = boxes.unbind(-1)
        corners = (self.x(x0), self.y(y0), self.x(x1), self.y(y1))
        return torch.cat([*corners, self.height(y1 - y0), self.width(x1 - x0)], dim=-1)


class SpatialBias(nn.Module):
    """The sum of three biases, over the root of the head size; a linear layer of a one-hot bucket is a table."""

    def __init__(self, config: LayoutLMv3Config) -> None:
        super().__init__()
        factor = 1.0 if config.relative_bias == "paper" else BIAS_SCALE
        self.scale = factor / math.sqrt(config.hidden // config.heads)
        self.sequential = nn.Linear(BUCKETS, config.heads, bias=False)
        self.horizontal = nn.Linear(SPATIAL_BUCKETS, config.heads, bias=False)
        self.vertical = nn.Linear(SPATIAL_BUCKETS, config.heads, bias=False)

    def forward(self, boxes: Int[Tensor, "batch length 4"]) -> Float[Tensor, "batch heads length length"]:
        """The bias of each query (rows) and key (columns); boxes are in thousandths of the page."""
        positions = torch.arange(boxes.shape[1], device=boxes.device).unsqueeze(0)
        sequential = relative_buckets(pairwise_differences(positions), FARTHEST_IN_TEXT)
        horizontal, vertical = (
            relative_buckets(pairwise_differences(boxes[..., side]), FARTHEST_ON_PAGE, SPATIAL_BUCKETS)
            for side in (0, 3)
        )
        summed = (
            self.sequential.weight.T[sequential]
            + self.horizontal.weight.T[horizontal]
            + self.vertical.weight.T[vertical]
        )
        return self.scale * summed.permute(0, 3, 1, 2)


class LayoutLMv3(nn.Module):
    """RoBERTa with boxes in its input embeddings and distances in its attention scores.

    Weights start as RoBERTa's, coordinate tables as `start` says, and biases as zero, which leaves a trained encoder
    unchanged at first.
    """

    def __init__(self, config: LayoutLMv3Config, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = config.norm_epsilon
        self.first_position = pad_id + 1 if config.core == "roberta" else 0
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.position_embedding = nn.Embedding(self.first_position + config.max_length, config.hidden)
        self.segment_embedding = nn.Embedding(config.segments, config.hidden)
        self.boxes = BoxesSideBySide(config)
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)
        self.relative_bias = SpatialBias(config)
        self.layers = bert_layers(config)
        initialise(self, config.hidden)
        set_to_zero(self.relative_bias)
        if config.start == "gentle":
            scale_down((self.boxes.x, self.boxes.y, self.boxes.height, self.boxes.width))

    def forward(self, batch: Batch) -> Encoded:
        states = self.embed(batch.input_ids, batch.boxes)
        scorer = VisibleKeys.with_bias(self.relative_bias(batch.boxes), batch.mask)
        for layer in self.layers:
            states = layer(states, scorer)
        return Encoded.of_all_tokens(states, batch.mask)

    def embed(
        self, input_ids: Int[Tensor, "batch length"], boxes: Int[Tensor, "batch length 4"]
    ) -> Float[Tensor, "batch length width"]:
        """The input of the layers, with dropout."""
        positions = self.position_embedding.weight[self.first_position :][: input_ids.shape[1]]
        text = self.word_embedding(input_ids) + self.segment_embedding.weight[0] + positions
        return self.dropout(self.norm(text + self.boxes(boxes)))


ARCHITECTURE = Architecture(
    name="layoutlmv3",
    config=LayoutLMv3Config,
    sizes={
        "tiny": LayoutLMv3Config(hidden=128, layers=2, heads=4, feed_forward=512),
        "small": LayoutLMv3Config(hidden=256, layers=4, heads=4, feed_forward=1024),
        "minilm": LayoutLMv3Config(
            core="bert",
            start="gentle",
            relative_bias="scaled",
            hidden=384,
            layers=6,
            feed_forward=1536,
            segments=2,
            norm_epsilon=LAYER_NORM_EPSILON,
        ),
        "base": LayoutLMv3Config(),
    },
    build=LayoutLMv3,
    initialise=initialise,
    inherits={"hf": text_encoder(FROM_PEER)},
)
