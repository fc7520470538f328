"""Skimformer, of "Skim-Attention: Learning to Focus via Document Layout" (Findings of EMNLP 2021, arXiv:2109.01078).

Attention depends on layout alone. It is computed once, from embeddings of the tokens' boxes, and all text layers reuse
it; text layers have values but no queries and keys. Optionally, a small transformer (the contextualiser) contextualises
the layout embeddings first.

    symbol      name here                       meaning
    ℓ           layout_embedding(boxes)         layout embedding of a box (Eq. 2)
    ℓ^c         contextualiser(ℓ, mask)         contextualised layout embedding
    A           skim_attention(ℓ, mask)         attention probabilities, one matrix per head (Eq. 3)
    Q, K        skim_attention.query, .key      projections of the layout, e → H·s
    T           embed_text(ids)                 text embedding without positions
    V^k, W_o    layers[k].value, .output        projections of the text, d → H·a → d
    d, e        hidden, layout_hidden           widths of text and layout
    H, a, s     heads, head_size, skim_head_size
    F           feed_forward

Departures from the paper; the middle three follow the authors' released code:
- The contextualiser does not see padding. In the release it does, and the result of a page depends on the lengths of
  the other pages in the batch; `contextualiser_mask = "reference_parity"` does the same.
- Layout embeddings go through LayerNorm and dropout; Eq. 2 stops at the sum.
- The d^ℓ in the √d^ℓ of Eq. 3 is the size of a skim head.
- Attention dropout is applied once; all layers of a step share the same sample.
- The degraded variant has no tables of widths and heights; in the release they exist unused.

`start = "local"` is not in the paper; it is for short trainings.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from layoutray.architectures import Architecture, Parent, SkimConfig
from layoutray.errors import InputError
from layoutray.nn.block import LAYER_NORM_EPSILON, SharedAttentionLayer
from layoutray.nn.gentle import scale_down
from layoutray.nn.initialise import initialise
from layoutray.nn.layout_embedding import (
    BoxEmbedding,
    BoxTables,
    CentreEmbedding,
    SequenceEmbedding,
    UniformBoxEmbedding,
    draw_waves,
)
from layoutray.nn.skim_attention import Contextualiser, ContextualiserMask, PackedSkimAttention, SkimAttention
from layoutray.nn.weight_names.skim_attention import SKIMFORMER_FROM_PEER
from layoutray.tensors import Batch, Encoded, Packing

_NEAR_X, _NEAR_Y = (20.0, 500.0), (5.0, 200.0)
"""Shortest and longest distance, on the grid of 1,000, over which attention falls with `start = "local"`."""
_LIKE = 6.0
"""Attention score of a token with itself with `start = "local"`."""


@dataclass(frozen=True, kw_only=True)
class SkimformerConfig(SkimConfig):
    """The defaults are the paper's Skimformer with contextualised layout (113 M parameters with the masked-LM head).

    Attributes:
        head_size: size a of a head's values.
        segments: kept for the paper's parameter count.
        contextualiser_mask: `masked` hides padding from the contextualiser; `reference_parity` does not, as in the
            release.
        layout: input of the layout embedding (Table 3): the box (`boxes`), its centre (`degraded`), no layout
            (`uniform`) or the token's position in the window (`1d`).
        start: initial weights of layout embedding, queries and keys. `paper` draws them as BERT's; each token then
            attends to all tokens almost equally. `local` draws them so that a token attends most to nearby tokens, and
            needs layout `boxes`.
    """

    head_size: int = 64
    segments: int = 2
    contextualiser_mask: ContextualiserMask = "masked"
    layout: Literal["boxes", "degraded", "uniform", "1d"] = "boxes"
    start: Literal["paper", "local"] = "paper"

    def __post_init__(self) -> None:
        if self.start == "local" and self.layout != "boxes":
            raise InputError(f"start is 'local' and layout is {self.layout!r}; it must be 'boxes' with this start")
        super().__post_init__()
        if self.layout == "1d" and self.contextualiser_layers:
            raise InputError(
                f"contextualiser_layers is {self.contextualiser_layers}; "
                "it must be 0 with layout '1d', which uses no boxes"
            )


class Skimformer(nn.Module):
    """The encoder: attention from layout, shared by all text layers.

    Weights start as BERT's, those of the layout as `start` says.
    """

    def __init__(self, config: SkimformerConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = LAYER_NORM_EPSILON
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.segment_embedding = nn.Embedding(config.segments, config.hidden)
        self.text_norm = nn.LayerNorm(config.hidden, eps=LAYER_NORM_EPSILON)
        self.text_dropout = nn.Dropout(config.dropout)
        self.layout_embedding = _layout_embedding(config)
        self.contextualiser = Contextualiser(config, config.dropout, config.attention_dropout)
        self.skim_attention = SkimAttention(config, config.attention_dropout)
        self.layers = nn.ModuleList(SharedAttentionLayer(config, LAYER_NORM_EPSILON) for _ in range(config.layers))
        initialise(self, config.hidden)
        if config.start == "local":
            boxes = cast(BoxTables, self.layout_embedding)
            draw_waves(boxes.x, *_NEAR_X)
            draw_waves(boxes.y, *_NEAR_Y)
            scale_down((boxes.width, boxes.height))
            self.skim_attention.attend_to_similar(_LIKE)

    def forward(self, batch: Batch) -> Encoded:
        if batch.packing is not None:
            packed, _ = self._run_packed(self.layers, batch, batch.packing)
            return Encoded.of_all_tokens(batch.packing.tokens.unpack(packed), batch.mask)
        attention = self.skim(batch)
        states = self.embed_text(batch.input_ids)
        for layer in self.layers:
            states = layer(states, partial(torch.matmul, attention))
        return Encoded.of_all_tokens(states, batch.mask)

    def target_states(self, batch: Batch) -> Float[Tensor, "targets width"]:
        """See `layoutray.tensors.PacksTokens`."""
        assert batch.packing is not None
        states, attention = self._run_packed(self.layers[:-1], batch, batch.packing)
        targets = states[:, batch.packing.target_index]
        return self.layers[-1](states, attention.attend_from_targets, targets).squeeze(0)

    def _run_packed(
        self, layers: nn.ModuleList, batch: Batch, packing: Packing
    ) -> tuple[Float[Tensor, "1 tokens width"], PackedSkimAttention]:
        """The real tokens after text layers `layers`, and the attention."""
        layout = self.contextualiser.packed(self.layout_embedding(batch.boxes), batch.mask, packing)
        attention = self.skim_attention.packed(layout, packing)
        states = packing.tokens.pack(self.embed_text(batch.input_ids))
        for layer in layers:
            states = layer(states, attention.attend)
        return states, attention

    def skim(self, batch: Batch) -> Float[Tensor, "batch heads length length"]:
        """A: attention probabilities, from layout alone."""
        return self.skim_attention(self.contextualiser(self.layout_embedding(batch.boxes), batch.mask), batch.mask)

    def embed_text(self, input_ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        """The text embedding T: word and segment (always the first), without positions."""
        return self.text_dropout(self.text_norm(self.word_embedding(input_ids) + self.segment_embedding.weight[0]))


def _layout_embedding(config: SkimformerConfig) -> nn.Module:
    match config.layout:
        case "boxes":
            return BoxEmbedding(config.layout_hidden, config.max_2d, config.dropout)
        case "degraded":
            return CentreEmbedding(config.layout_hidden, config.max_2d, config.dropout)
        case "uniform":
            return UniformBoxEmbedding(config.layout_hidden, config.max_2d, config.dropout)
        case "1d":
            return SequenceEmbedding(config.layout_hidden, config.max_length, config.dropout)


ARCHITECTURE = Architecture(
    name="skimformer",
    config=SkimformerConfig,
    sizes={
        "tiny": SkimformerConfig(
            hidden=128,
            layout_hidden=128,
            layers=2,
            heads=4,
            head_size=32,
            skim_head_size=32,
            feed_forward=512,
            contextualiser_layers=1,
            contextualiser_heads=4,
        ),
        "small": SkimformerConfig(
            hidden=256, layout_hidden=256, layers=4, heads=4, feed_forward=1024, contextualiser_heads=4
        ),
        "minilm": SkimformerConfig(
            start="local", hidden=384, layout_hidden=384, layers=6, head_size=32, skim_head_size=32, feed_forward=1536
        ),
        "base": SkimformerConfig(),
    },
    build=Skimformer,
    initialise=initialise,
    inherits={
        "hf": Parent(
            SKIMFORMER_FROM_PEER,
            fixed={"model_type": "bert", "norm_epsilon": LAYER_NORM_EPSILON},
            shared={name: name for name in ("layers", "heads")},
        )
    },
)
