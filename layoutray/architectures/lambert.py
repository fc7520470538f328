"""LAMBERT, of "LAMBERT: Layout-Aware language Modeling using BERT for information extraction".

The architecture of the paper's first version (arXiv:2002.08087v1).

RoBERTa with one more term in its input embeddings: a layout embedding of each token. Training starts from a trained
RoBERTa. During training, the sequential positions can be dropped, until the model orders tokens by layout alone.

    symbol      name here                             meaning
    s_i         word_embedding, segment_embedding     token embedding
    p_i, D_q    position_embedding, position_dropout  sequential position, dropped with probability q
    F, θ, ℓ_i   layout.embedding                      cosines and sines of the box's coordinates (nn.winding_embedding)
    L           layout.adapter                        linear map from ℓ to the encoder's width
    x_i         embed: LN(s_i + D_q(p_i) + L(ℓ_i))    input of the layers

Departures from the paper, and choices where it does not specify:
- All tokens of a word have the word's box; the paper divides the box in proportion to the numbers of characters. Boxes
  are in thousandths of the page's width and height. Special tokens have a box of zeros.
- L has a bias, which the paper does not mention and the authors' later code has.
- `adapter = "paper"` draws L from N(0, 0.02²). L(ℓ) is then several times as long as s in a trained encoder, and as all
  n numbers of ℓ can push in one direction, a step of Adam moves L(ℓ) up to n times as far as s. Both make the encoder
  forget most of what it learned, and it needs a long training. `adapter = "gentle"` starts with L = 0 and divides ℓ by
  √n.
- Evaluation uses the mean of D_q(p), (1 − q) p, the usual rule for dropout without rescaling. q is a buffer: a
  checkpoint stores whether the model still uses positions, and further training does not restore them.
- The layout embeddings of its appendix are plug-ins of `benchmarks/`: another package adds a layout embedding by an
  entry point of group `layoutray.architectures.lambert`, whose module defines `LAYOUT`, which builds a `LayoutTerm`.

The authors' release (applicaai/lambert) implements a later version of the paper. `layout_joins = "after_norm"`,
`winding = "released"`, `position_dropout = "none"` and `relative_bias = "buckets"` reproduce it. Departures from the
release: tables of relative biases start at zero, because N(0, 1) disturbs a trained encoder; L starts at N(0, 0.02²).
`relative_bias = "scaled"` multiplies the tables by 30, for short trainings (`nn.relative_bias`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray import registry
from layoutray.architectures import Architecture, CoreConfig, check_winding, text_encoder
from layoutray.errors import InputError
from layoutray.nn.attention import VisibleKeys
from layoutray.nn.block import LAYER_NORM_EPSILON, bert_layers, packed_layers, packed_layers_of_targets
from layoutray.nn.gentle import GentleAdapter, set_to_zero
from layoutray.nn.initialise import initialise
from layoutray.nn.relative_bias import BIAS_SCALE, RelativeBias
from layoutray.nn.weight_names.bert import FROM_PEER
from layoutray.nn.winding_embedding import WindingEmbedding, page_scaled
from layoutray.tensors import BOX_GRID, Batch, Encoded, Packing


@dataclass(frozen=True, kw_only=True)
class LambertConfig(CoreConfig):
    """The defaults are RoBERTa-base with the paper's layout embedding and dropout of positions.

    Attributes:
        layout: layout embedding: the paper's (`winding`), `none` (RoBERTa), or a plug-in.
        winding: factors and order of the `winding` embedding, see `nn.winding_embedding`.
        adapter: `paper` draws L from N(0, 0.02²); `gentle` starts at zero and divides ℓ by √n, for short trainings.
        layout_joins: where L(ℓ) is added: `before_norm`, as in the paper, or `after_norm` (after LayerNorm and
            dropout).
        position_dropout: `linear` raises q from 0 to 1 over the first half of training; `none` keeps q.
        relative_bias: `buckets` adds the release's relative biases to the attention scores of all layers; `scaled`
            multiplies them by 30, for short trainings; `none` adds none.
    """

    layout: str = "winding"
    winding: Literal["paper", "released"] = "paper"
    adapter: Literal["paper", "gentle"] = "paper"
    layout_joins: Literal["before_norm", "after_norm"] = "before_norm"
    position_dropout: Literal["linear", "none"] = "linear"
    relative_bias: Literal["none", "buckets", "scaled"] = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_winding(self)
        registry.load_part(__name__, "LAYOUT", self.layout, LAYOUTS)


class TokenPlaces(NamedTuple):
    """Inputs of layout embeddings.

    Attributes:
        shares: boxes as shares of the page's width and height.
        scaled: boxes in units of the page's longer side.
        word_index: number of each token's word, -1 if it has none.
    """

    shares: Float[Tensor, "batch length 4"]
    scaled: Float[Tensor, "batch length 4"]
    word_index: Int[Tensor, "batch length"]


class LayoutTerm(Protocol):
    """L(ℓ), a module."""

    adapter: nn.Linear

    def __call__(self, places: TokenPlaces) -> Float[Tensor, "batch length width"]: ...


def linear_adapter(width: int, config: LambertConfig) -> nn.Linear:
    """The linear map L from a layout embedding of `width` to the encoder's width."""
    return (GentleAdapter if config.adapter == "gentle" else nn.Linear)(width, config.hidden)


class WindingLayout(nn.Module):
    """L(ℓ) with the paper's ℓ."""

    def __init__(self, config: LambertConfig) -> None:
        super().__init__()
        self.embedding = WindingEmbedding(config.hidden, config.winding)
        self.adapter = linear_adapter(config.hidden, config)

    def forward(self, places: TokenPlaces) -> Float[Tensor, "batch length width"]:
        return self.adapter(self.embedding(places.scaled))


LAYOUTS: Mapping[str, Callable[[LambertConfig], LayoutTerm | None]] = {"winding": WindingLayout, "none": lambda _: None}


class PositionDropout(nn.Module):
    """D_q: drops whole position vectors p with probability q without rescaling; evaluation uses the mean, (1 − q) p.

    q is saved with the weights and never decreases: further training does not restore dropped positions.
    """

    share: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("share", torch.zeros(()))

    def increase_to(self, share: float) -> None:
        """Set q to `share`, unless q is higher already."""
        self.share.clamp_(min=share)

    def forward(self, positions: Float[Tensor, "length width"], batch: int) -> Float[Tensor, "batch length width"]:
        """The positions of `batch` windows, dropped independently in each window."""
        if not self.training:
            return ((1 - self.share) * positions).expand(batch, -1, -1)
        kept = torch.rand(batch, len(positions), 1, device=positions.device) >= self.share
        return kept * positions


def linear_schedule(progress: float) -> float:
    """q at a share of training: it grows linearly from 0 to 1 over the first half and stays 1."""
    return min(2 * progress, 1.0)


class Lambert(nn.Module):
    """RoBERTa with a layout term in its input embeddings.

    Weights start as RoBERTa's, those of L as `adapter` says, and relative biases as zero.
    """

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
        self.layout = registry.load_part(__name__, "LAYOUT", config.layout, LAYOUTS)(config)
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)
        scale = {"none": None, "buckets": 1.0, "scaled": BIAS_SCALE}[config.relative_bias]
        self.relative_bias = None if scale is None else RelativeBias(config.heads, scale)
        self.layers = bert_layers(config)
        initialise(self, config.hidden)
        if self.relative_bias is not None:
            set_to_zero(self.relative_bias)
        if self.layout is not None and isinstance(self.layout.adapter, GentleAdapter):
            set_to_zero(self.layout.adapter)

    def forward(self, batch: Batch) -> Encoded:
        """Raises InputError if the batch has no page sizes or no word numbers."""
        if batch.packing is None or self.relative_bias is not None:
            return self.encode(batch.input_ids, batch.mask, token_places(batch, self.word_embedding.weight.dtype))
        states = packed_layers(self.layers, self._packed(batch, batch.packing), batch.packing)
        return Encoded.of_all_tokens(batch.packing.tokens.unpack(states), batch.mask)

    def target_states(self, batch: Batch) -> Float[Tensor, "targets width"]:
        """See `layoutray.tensors.PacksTokens`. With relative biases, padding is computed too."""
        assert batch.packing is not None
        if self.relative_bias is not None:
            return batch.packing.tokens.pack(self(batch).states)[0, batch.packing.target_index]
        return packed_layers_of_targets(self.layers, self._packed(batch, batch.packing), batch.packing)

    def encode(
        self, input_ids: Int[Tensor, "batch length"], mask: Bool[Tensor, "batch length"], places: TokenPlaces
    ) -> Encoded:
        scorer = (
            VisibleKeys.of_all_queries(mask)
            if self.relative_bias is None
            else VisibleKeys.with_bias(self.relative_bias(places.scaled), mask)
        )
        states = self.embed(input_ids, places)
        for layer in self.layers:
            states = layer(states, scorer)
        return Encoded.of_all_tokens(states, mask)

    def embed(self, input_ids: Int[Tensor, "batch length"], places: TokenPlaces) -> Float[Tensor, "batch length width"]:
        """The input x of the layers, with dropout."""
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

    def _packed(self, batch: Batch, packing: Packing) -> Float[Tensor, "1 tokens width"]:
        return packing.tokens.pack(self.embed(batch.input_ids, token_places(batch, self.word_embedding.weight.dtype)))

    def set_progress(self, progress: float) -> None:
        """See `layoutray.tensors.Scheduled`."""
        if self.drops_positions:
            self.position_dropout.increase_to(linear_schedule(progress))


def token_places(batch: Batch, dtype: torch.dtype) -> TokenPlaces:
    """Where the tokens of a batch stand. Raises InputError if the batch has no page sizes or no word numbers."""
    if batch.page_sizes is None or batch.word_index is None:
        raise InputError("the examples have no page sizes or no word numbers; make them with `layoutray encode`")
    shares = batch.boxes.to(dtype) / BOX_GRID
    return TokenPlaces(shares, page_scaled(shares, batch.page_sizes), batch.word_index)


ARCHITECTURE = Architecture(
    name="lambert",
    config=LambertConfig,
    sizes={
        "tiny": LambertConfig(hidden=128, layers=2, heads=4, feed_forward=512),
        # The size of MiniLM-L6-H384, a small BERT with published weights.
        "small": LambertConfig(
            core="bert", hidden=384, layers=6, feed_forward=1536, segments=2, norm_epsilon=LAYER_NORM_EPSILON
        ),
        # The same with what a short training from its weights needs.
        "minilm": LambertConfig(
            core="bert",
            hidden=384,
            layers=6,
            feed_forward=1536,
            segments=2,
            norm_epsilon=LAYER_NORM_EPSILON,
            adapter="gentle",
            position_dropout="none",
            relative_bias="scaled",
        ),
        "base": LambertConfig(),
    },
    build=Lambert,
    initialise=initialise,
    inherits={"hf": text_encoder(FROM_PEER)},
)
