"""LAMBERT, of "LAMBERT: Layout-Aware language Modeling using BERT for information extraction" (arXiv:2002.08087, first version).

RoBERTa whose input embeddings have one term more: where on the page a token stands. It starts from a trained RoBERTa, and in the course
of its training the sequential positions can be taken from it, so that it reads by layout alone.

    symbol         name here                                  meaning
    s_i            word_embedding, segment_embedding          what stands there
    p_i, D_q       position_embedding, position_dropout       sequential position, and its dropping with probability q
    F, θ, ℓ_i      layout.embedding                           the box as cosines and sines of its coordinates (nn.winding_embedding)
    L              layout.adapter                             from ℓ to the encoder's width
    x_i            embed: LN(s_i + D_q(p_i) + L(ℓ_i))         what goes into the layers

Departures from the paper, and decisions where it is silent:
- Every piece of a word has the word's box; the paper divides the box among them by their numbers of characters. Boxes come in thousandths
  of each side of the page. Special tokens have a box of zeros.
- L has a bias, which is not mentioned; the authors' later code has one. Drawn from N(0, 0.02²), L(ℓ) is several times as long as s in a
  trained encoder; and as all of ℓ's n numbers can push in one direction, a step of Adam moves L(ℓ) up to n times as far as s. Either way
  the encoder forgets most of what it knew, and needs a long training. `adapter = "gentle"` begins with L = 0 and divides ℓ by √n.
- Evaluation takes the mean of D_q(p), (1 − q) p: the usual rule for dropout that does not rescale. q is a buffer, so a checkpoint knows
  whether it has positions left, and training it again does not bring them back.
- `layout = "graph"` (appendix): nodes are words, not pieces; their features are their boxes; neighbours are listed per word and not made
  mutual; LayerNorm stands where GIN has batch normalisation, which would mix documents.
- `layout = "autoencoder"` (appendix): a word's neighbourhood is centred on it and shows the boxes of its window's words, its own among
  them; a line is as high as the window's words in the median. Task `neighbourhoods` trains it first; then it learns with the rest.
The authors' release (applicaai/lambert) belongs to a later version of the paper. It is had by `layout_joins = "after_norm"`,
`winding = "released"`, `position_dropout = "none"` and `relative_bias = "buckets"`. Departures from it: the tables of relative biases
begin at zero and not at N(0, 1), which upsets a trained encoder, and L at N(0, 0.02²).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray.architectures import Architecture, Parent, check_heads, check_ranges
from layoutray.errors import InputError
from layoutray.nn.attention import SelfAttention, hidden_keys
from layoutray.nn.block import LAYER_NORM_EPSILON, EncoderLayer
from layoutray.nn.graph_embedding import GraphEmbedding
from layoutray.nn.initialise import initialise
from layoutray.nn.neighbourhood import NeighbourhoodEmbedding
from layoutray.nn.position_dropout import PositionDropout, linear_share
from layoutray.nn.relative_bias import RelativeBias
from layoutray.nn.weight_names.bert import FROM_PEER
from layoutray.nn.winding_embedding import WindingEmbedding, page_scaled
from layoutray.tensors import Batch, Encoded

_GRID = 1000
"""Of a batch's boxes: thousandths of the page."""


@dataclass(frozen=True)
class LambertConfig:
    """The defaults are RoBERTa-base with the paper's layout embeddings and positions that are dropped in the end.

    Attributes:
        core: whose encoder it is, which decides how positions are counted: `roberta` from the pad id + 1, `bert` from 0.
        layout: `winding` is the paper's; `graph` and `autoencoder` are its appendix'; `none` is RoBERTa.
        winding: factors and order of `winding`, see `nn.winding_embedding`.
        adapter: `paper` draws L from N(0, 0.02²); `gentle` begins at zero and shows L shares of ℓ, for short trainings.
        layout_joins: the sum of embeddings before its LayerNorm, as in the paper, or its outcome after LayerNorm and dropout.
        position_dropout: `linear` raises q from 0 to 1 over the first half of training, `none` leaves it where it is.
        relative_bias: `buckets` adds the release's relative biases to all attention scores.
        hidden: width n of the states.
        layers: number of layers.
        heads: attention heads per layer.
        feed_forward: inner width of feed-forward blocks.
        dropout: on embeddings, updates and heads.
        attention_dropout: on attention probabilities.
        max_length: longest window in tokens; the position table has so many rows, and RoBERTa's has those up to the pad id before them.
        segments: rows of the segment table, of which only the first is used; RoBERTa has 1, BERT 2.
        norm_epsilon: of LayerNorms; RoBERTa has 1e-5, BERT 1e-12.
    """

    core: Literal["roberta", "bert"] = "roberta"
    layout: Literal["winding", "graph", "autoencoder", "none"] = "winding"
    winding: Literal["paper", "released"] = "paper"
    adapter: Literal["paper", "gentle"] = "paper"
    layout_joins: Literal["before_norm", "after_norm"] = "before_norm"
    position_dropout: Literal["linear", "none"] = "linear"
    relative_bias: Literal["none", "buckets"] = "none"
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
        if self.layout == "winding" and self.hidden % 8:
            raise InputError(
                f"hidden is {self.hidden}; eight must divide it: a cosine and a sine of each of four coordinates"
            )


class Places(NamedTuple):
    """Where tokens stand.

    Attributes:
        shares: boxes in shares of the page's width and height.
        scaled: boxes in units of the page's longer side.
        word_index: number of each token's word, -1 where it has none.
    """

    shares: Float[Tensor, "batch length 4"]
    scaled: Float[Tensor, "batch length 4"]
    word_index: Int[Tensor, "batch length"]


class Adapter(nn.Linear):
    """L."""

    def __init__(self, width: int, config: LambertConfig) -> None:
        super().__init__(width, config.hidden)
        self.gentle = config.adapter == "gentle"

    def begin(self) -> None:
        """With what `gentle` begins; what is drawn elsewhere stays."""
        if self.gentle:
            nn.init.zeros_(self.weight)
            nn.init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  (nn.Linear's name)
        return super().forward(input / math.sqrt(self.in_features) if self.gentle else input)


class WindingLayout(nn.Module):
    """L(ℓ) of the paper's ℓ."""

    def __init__(self, config: LambertConfig) -> None:
        super().__init__()
        self.embedding = WindingEmbedding(config.hidden, config.winding)
        self.adapter = Adapter(config.hidden, config)

    def forward(self, places: Places) -> Float[Tensor, "batch length width"]:
        return self.adapter(self.embedding(places.scaled))


class GraphLayout(nn.Module):
    """L(ℓ) of the appendix' ℓ from graphs."""

    def __init__(self, config: LambertConfig) -> None:
        super().__init__()
        self.embedding = GraphEmbedding()
        self.adapter = Adapter(self.embedding.width, config)

    def forward(self, places: Places) -> Float[Tensor, "batch length width"]:
        return self.adapter(self.embedding(places.shares, places.word_index))


class AutoencoderLayout(nn.Module):
    """L(ℓ) of the appendix' ℓ from bitmaps."""

    def __init__(self, config: LambertConfig) -> None:
        super().__init__()
        self.embedding = NeighbourhoodEmbedding()
        self.adapter = Adapter(self.embedding.width, config)

    def forward(self, places: Places) -> Float[Tensor, "batch length width"]:
        return self.adapter(self.embedding(places.scaled, places.word_index))


_LAYOUTS: Mapping[str, Callable[[LambertConfig], WindingLayout | GraphLayout | AutoencoderLayout | None]] = {
    "winding": WindingLayout,
    "graph": GraphLayout,
    "autoencoder": AutoencoderLayout,
    "none": lambda config: None,
}


class Lambert(nn.Module):
    """RoBERTa that knows where its tokens stand."""

    def __init__(self, config: LambertConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = config.norm_epsilon
        self.first_position = pad_id + 1 if config.core == "roberta" else 0
        self.drops_positions = config.position_dropout == "linear"
        self.joins_before_norm = config.layout_joins == "before_norm"
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.position_embedding = nn.Embedding(self.first_position + config.max_length, config.hidden)
        self.position_dropout = PositionDropout()
        self.segment_embedding = nn.Embedding(config.segments, config.hidden)
        self.layout = _LAYOUTS[config.layout](config)
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)
        self.relative_bias = RelativeBias(config.heads) if config.relative_bias == "buckets" else None
        self.layers = nn.ModuleList(_layer(config) for _ in range(config.layers))

    def forward(self, batch: Batch) -> Encoded:
        """Raises InputError when the batch does not say how large its pages are, or which tokens are of one word."""
        return self.read(batch.input_ids, batch.mask, self._places(batch))

    def read(
        self, input_ids: Int[Tensor, "batch length"], mask: Bool[Tensor, "batch length"], places: Places
    ) -> Encoded:
        """The states of tokens that stand at `places`."""
        visible = mask if self.relative_bias is None else hidden_keys(self.relative_bias(places.scaled), mask)
        states = self.embed(input_ids, places)
        for layer in self.layers:
            states = layer(states, visible)
        origin = torch.arange(states.shape[1], device=states.device).expand(states.shape[:2])
        return Encoded(states, mask, origin)

    def embed(self, input_ids: Int[Tensor, "batch length"], places: Places) -> Float[Tensor, "batch length width"]:
        """x, with dropout."""
        windows, length = input_ids.shape
        positions = self.position_embedding.weight[self.first_position : self.first_position + length]
        text = (
            self.word_embedding(input_ids)
            + self.position_dropout(positions, windows)
            + self.segment_embedding.weight[0]
        )
        layout = torch.zeros_like(text) if self.layout is None else self.layout(places)
        if self.joins_before_norm:
            return self.dropout(self.norm(text + layout))
        return self.dropout(self.norm(text)) + layout

    def layout_autoencoder(self) -> NeighbourhoodEmbedding:
        """See `layoutray.tensors.HasLayoutAutoencoder`."""
        if not isinstance(self.layout, AutoencoderLayout):
            raise InputError("this LAMBERT has no autoencoder; take model.layout=autoencoder")
        return self.layout.embedding

    def survey(self, batch: Batch) -> tuple[Float[Tensor, "found 1 64 64"], Float[Tensor, "found 128"]]:
        """See `layoutray.tensors.HasLayoutAutoencoder`."""
        places, embedding = self._places(batch), self.layout_autoencoder()
        pictures, _ = embedding.pictures(places.scaled, places.word_index)
        return pictures, embedding.vectors(pictures)

    def reach(self, progress: float) -> None:
        """See `layoutray.tensors.Scheduled`."""
        if self.drops_positions:
            self.position_dropout.raise_to(linear_share(progress))

    def _places(self, batch: Batch) -> Places:
        if batch.page_sizes is None or batch.word_index is None:
            raise InputError(
                "the windows do not say how large their pages are, or which words they hold; make them with `layoutray encode`"
            )
        shares = batch.boxes.to(self.word_embedding.weight.dtype) / _GRID
        return Places(shares, page_scaled(shares, batch.page_sizes), batch.word_index)


def _layer(config: LambertConfig) -> EncoderLayer:
    attention = SelfAttention(config.hidden, config.heads, config.attention_dropout)
    return EncoderLayer(
        attention, config.hidden, feed_forward=config.feed_forward, dropout=config.dropout, epsilon=config.norm_epsilon
    )


def build(config: LambertConfig, *, vocab_size: int, pad_id: int) -> Lambert:
    """With RoBERTa's initial weights throughout but for L, and no relative biases yet."""
    encoder = Lambert(config, vocab_size=vocab_size, pad_id=pad_id)
    initialise(encoder, config.hidden)
    if encoder.relative_bias is not None:
        encoder.relative_bias.reset()
    if encoder.layout is not None:
        encoder.layout.adapter.begin()
    return encoder


ARCHITECTURE = Architecture(
    name="lambert",
    config=LambertConfig,
    sizes={
        "tiny": LambertConfig(hidden=128, layers=2, heads=4, feed_forward=512),
        # MiniLM-L6-H384, a small BERT with trained weights.
        "small": LambertConfig(
            core="bert", hidden=384, layers=6, feed_forward=1536, segments=2, norm_epsilon=LAYER_NORM_EPSILON
        ),
        "base": LambertConfig(),
    },
    build=build,
    initialise=initialise,
    inherits={
        "hf": Parent(
            FROM_PEER, shared={"model_type": "core", **{name: name for name in ("layers", "heads", "norm_epsilon")}}
        )
    },
)
