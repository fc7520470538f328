"""Pyramidion, of "Sparsifying Transformer Models with Trainable Representation Pooling" (ACL 2022, arXiv:2009.05169).

An encoder of long texts that keeps fewer tokens from layer to layer. Tokens attend to each other within blocks. After
some layers, a scorer scores the tokens, and a differentiable top-k keeps the best of the whole text; the result is
short enough for a decoder to attend to all of it.

    symbol      name here                       meaning
    E           embed(batch)                    √d · word + sinusoidal position (+ layout embedding)
    v           pools[i].scorer                 score of each token
    Γ(E, v, k)  pools[i].pool                   Successive Halving Top-k
    n/k         2 ** halvings[i]                number of tokens per kept token after layer i
    c           block                           number of tokens per attention block

The values of `encoder` are the family (`nn.encoder_family`):

    vanilla           all tokens attend to all tokens
    blockwise         attention within blocks
    transpooler       within blocks; one pooling, after the last layer
    pyramidion        within blocks; pooling evenly over the layers
    deep_pyramidion   within blocks; pooling as in `halvings`: 8k, 8k, 2k, 512, 512, 512 tokens after the layers

Other models that the paper compares it with (Table 2) are plug-ins of `benchmarks/`: another package adds an encoder by
an entry point of group `layoutray.architectures.pyramidion`, whose module defines a `Member` as `ENCODER`.

Departures from the paper:
- Pooling is configured by numbers of halvings, which fit any length. A text shorter than `max_length` is shortened in
  proportion: r tokens to ⌈r·k/n⌉, none of them padding. In the paper, it is first padded to `max_length`.
- Padding is hidden from attention and has weight 0 in pooling. In the release it takes part in both, and the decoder
  sees it; `padding = "reference_parity"` does the same. The release's plain model (no blocks, no pooling) hides padding
  from the encoder.
- All encoders that shorten a text shorten it by the same factor, the product of all halvings.
- The paper uses text alone; `layout` adds a layout embedding, which also influences the scores.
- Scores are σ(logit) + 1e-5 and the softmax is over 20ᵛ, as in the authors' release. Outputs are in document order, as
  in the paper; the release's default differs (`order`).
- `pairing = "neighbours"` is not in the paper. A kept state is then a mixture of adjacent tokens, so that pooling is no
  top-k.
- Layers that do not pool have no scorer; the release has one in each layer.
- `core = "bert"` or `"roberta"` starts from a trained encoder of this kind, which the paper does not do. The input is
  then LN(word + position + segment (+ layout)), and feed-forward blocks use GELU. Sequential positions start again
  after `core_positions` tokens, so that texts can be longer than those of the trained encoder. Encoder `vanilla`
  computes exactly what the trained encoder computes.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray import registry
from layoutray.architectures import Architecture, EncoderConfig, check_heads, check_ranges, check_winding, text_encoder
from layoutray.errors import InputError
from layoutray.nn import layout_input
from layoutray.nn.block import LAYER_NORM_EPSILON, EncoderLayer
from layoutray.nn.blockwise_attention import BlockwiseAttention, padded
from layoutray.nn.encoder_family import ENCODERS, Member
from layoutray.nn.initialise import initialise_as_fairseq
from layoutray.nn.pooling_layer import Pooling, PoolingKind, PoolingMethod
from layoutray.nn.positions import sinusoids
from layoutray.nn.token_pooling import HalvingSettings, PairingName
from layoutray.nn.token_scoring import ScorerName
from layoutray.nn.weight_names.bert import PYRAMIDION_FROM_PEER
from layoutray.tensors import Batch, Encoded


@dataclass(frozen=True, kw_only=True)
class PyramidionConfig(EncoderConfig):
    """The defaults are the paper's DeepPyramidion.

    Attributes:
        core: the trained encoder to start from (`bert`, `roberta`); `none` trains from scratch, as in the paper.
        hidden: width d of the states; must be even.
        encoder: the encoder of the family, or a plug-in; see the module's docstring.
        layout: layout embedding in the input: Skimformer's (`boxes`), LAMBERT's (`winding`), or `none`, as in the
            paper.
        adapter: the linear map of `winding`: `plain`, which learns faster from scratch, or `gentle`, which divides its
            input by √n, so that the first steps do not disturb a trained `core`.
        block: number of tokens per attention block; 0 means one block.
        halvings: per layer, how often deep_pyramidion halves the number of tokens after it: 2 turns 8192 into 2048.
        pooling: the paper's operator, hard top-k, or mean or maximum over windows (Appendix A).
        scorer: scores the tokens (Appendix A); ignored by mean and max pooling.
        lsh_chunk: number of tokens per chunk of encoder `lsh`, a plug-in.
        lsh_rounds: number of hash rounds of `lsh`.
        order: order of the outputs of Successive Halving: `document`, or `score`, the release's default.
        pairing: which tokens Successive Halving pairs: the strongest with the weakest (`mirrored`, the paper's), with
            the first of the weaker half (`parallel`), or each token with the next one (`neighbours`).
        padding: `masked`, or `reference_parity`, as in the release: texts are padded to `max_length`, and padding is
            visible.
        core_positions: size of the position table of a `core`, to which RoBERTa adds pad id + 1 rows.
    """

    core: Literal["none", "bert", "roberta"] = "none"
    layers: int = 6
    heads: int = 8
    max_length: int = 8192
    encoder: str = "deep_pyramidion"
    layout: layout_input.LayoutInputName = "none"
    adapter: layout_input.AdapterName = "plain"
    block: int = 512
    halvings: tuple[int, ...] = (0, 0, 2, 2, 0, 0)
    pooling: PoolingMethod = "successive_halving"
    scorer: ScorerName = "linear"
    lsh_chunk: int = 64
    lsh_rounds: int = 4
    order: Literal["document", "score"] = "document"
    pairing: PairingName = "mirrored"
    padding: Literal["masked", "reference_parity"] = "masked"
    core_positions: int = 512
    segments: int = 2
    norm_epsilon: float = 1e-5

    def __post_init__(self) -> None:
        check_ranges(self, smallest={"hidden": 4, "block": 0})
        check_heads(self, "hidden", "heads")
        if self.hidden % 2:
            raise InputError(f"hidden is {self.hidden}; it must be even: positions are half sines, half cosines")
        check_winding(self)
        if len(self.halvings) != self.layers or min(self.halvings) < 0:
            raise InputError(
                f"halvings is {list(self.halvings)}; it must be one number of at least 0 "
                f"for each of the {self.layers} layers"
            )
        if self.pooling == "hard" and self.scorer in ("linear", "nonlinear"):
            raise InputError(
                f"scorer is {self.scorer!r}, which gets no gradient with pooling 'hard'; use one without parameters"
            )
        if self.pairing == "neighbours" and (self.order == "score" or self.padding == "reference_parity"):
            raise InputError(
                "pairing is 'neighbours'; then order must be 'document' and padding 'masked', not "
                f"{self.order!r} and {self.padding!r}"
            )
        _ = self.member
        if self.padding == "reference_parity":
            self._check_parity()

    @property
    def member(self) -> Member:
        """The encoder called `encoder`. Raises InputError if there is none."""
        return registry.load_part(__name__, "ENCODER", self.encoder, ENCODERS)

    @property
    def halvings_per_layer(self) -> tuple[int, ...]:
        """How often `encoder` halves the number of tokens after each layer."""
        return self.member.halvings(self.halvings)

    @property
    def pooling_kind(self) -> PoolingKind:
        halving = HalvingSettings(order=self.order, pairing=self.pairing)
        return self.member.pooling or PoolingKind(self.pooling, self.scorer, halving)

    @property
    def attention_block(self) -> int:
        """Number of tokens per attention block of `encoder`; 0 means one block."""
        return self.block if self.member.in_blocks else 0

    def _check_parity(self) -> None:
        if self.core != "none":
            raise InputError(
                f"core is {self.core!r}; with padding 'reference_parity' it must be 'none', as in the release"
            )
        if self.encoder not in ENCODERS:
            raise InputError(
                f"encoder is {self.encoder!r}; with padding 'reference_parity' it must be an encoder of the release: "
                f"{', '.join(ENCODERS)}"
            )
        length = self.max_length
        for halvings in self.halvings_per_layer:
            block = min(self.attention_block or length, length)
            if length % block or length % 2**halvings:
                raise InputError(
                    f"max_length is {self.max_length}; with padding 'reference_parity', "
                    f"the number of tokens of every layer must be a multiple of the block of {self.block} "
                    "and divisible by 2 for each of its `halvings`; "
                    f"a layer gets {length} tokens"
                )
            length //= 2**halvings


class CoreInput(nn.Module):
    """LN(x + position + segment): the input of BERT or RoBERTa, with positions that start again."""

    def __init__(self, config: PyramidionConfig, pad_id: int) -> None:
        super().__init__()
        self.first_position = pad_id + 1 if config.core == "roberta" else 0
        self.period = config.core_positions
        self.position_embedding = nn.Embedding(self.first_position + self.period, config.hidden)
        self.segment_embedding = nn.Embedding(config.segments, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)

    def forward(
        self, words: Float[Tensor, "batch length width"], positions: Int[Tensor, " length"]
    ) -> Float[Tensor, "batch length width"]:
        positions = self.position_embedding(self.first_position + positions % self.period)
        return self.norm(words + positions + self.segment_embedding.weight[0])


class Pyramidion(nn.Module):
    """The encoder: attention layers, some of them followed by pooling. Weights start as fairseq's."""

    def __init__(self, config: PyramidionConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = config.norm_epsilon
        self.pad_id = pad_id
        self.parity = config.padding == "reference_parity"
        self.hides_padding = not self.parity or not (config.attention_block or any(config.halvings_per_layer))
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.core = None if config.core == "none" else CoreInput(config, pad_id)
        self.layout = layout_input.layout_input(config.layout, config.hidden, config.adapter)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(_layer(config) for _ in range(config.layers))
        self.run = config.member.run and partial(config.member.run, config)
        self.pools = nn.ModuleDict(
            {
                str(layer): Pooling(config.pooling_kind, halvings, width=config.hidden, dropout=config.dropout)
                for layer, halvings in enumerate(config.halvings_per_layer)
                if halvings
            }
        )
        self.has_mixture = any(cast(Pooling, pool).method != "max" for pool in self.pools.values())
        initialise_as_fairseq(self, config.hidden)

    def forward(self, batch: Batch) -> Encoded:
        tokens = self.embed(batch)
        if not self.parity:
            return self.encode(tokens)
        states, mask, origin = (padded(rows, self.max_length) for rows in (tokens.states, tokens.mask, tokens.origin))
        mask = mask if self.hides_padding else torch.ones_like(mask)
        kept = self.encode(Encoded(states=states, mask=mask, origin=origin))
        return replace(kept, mask=torch.ones_like(kept.mask))

    def embed(self, batch: Batch) -> Encoded:
        """E, zero on padding. As in fairseq, the first position is the one after the pad id."""
        positions = torch.arange(batch.input_ids.shape[1], device=batch.input_ids.device)
        words = self.word_embedding(batch.input_ids)
        layout = torch.zeros_like(words) if self.layout is None else self.layout(batch)
        if self.core is None:
            states = words * self.width**0.5 + sinusoids(positions + self.pad_id + 1, self.width) + layout
        else:
            states = self.core(words + layout, positions)
        return Encoded(
            states=self.dropout(states * batch.mask[..., None]),
            mask=batch.mask,
            origin=positions.expand(batch.input_ids.shape),
        )

    def encode(self, tokens: Encoded) -> Encoded:
        """The states of the tokens that are kept after all layers."""
        if self.run is not None:
            return self.run([cast(EncoderLayer, layer) for layer in self.layers], tokens)
        for number, layer in enumerate(self.layers):
            encoded = replace(tokens, states=layer(tokens.states, tokens.mask))
            if str(number) in self.pools:
                encoded = self.pools[str(number)](encoded, partial(_received_attention, layer, tokens))
            tokens = encoded
        return tokens


def _received_attention(layer: nn.Module, tokens: Encoded) -> Float[Tensor, "batch length"]:
    return cast(BlockwiseAttention, layer.attention).received(tokens.states, tokens.mask)


def blockwise(config: PyramidionConfig) -> BlockwiseAttention:
    """Attention within blocks of `config.attention_block` tokens."""
    return BlockwiseAttention(config.hidden, config.heads, config.attention_dropout, config.attention_block)


def _layer(config: PyramidionConfig) -> EncoderLayer:
    return EncoderLayer(
        (config.member.attention or blockwise)(config),
        config.hidden,
        feed_forward=config.feed_forward,
        dropout=config.dropout,
        epsilon=config.norm_epsilon,
        activation=functional.relu if config.core == "none" else functional.gelu,
    )


ARCHITECTURE = Architecture(
    name="pyramidion",
    config=PyramidionConfig,
    sizes={
        "tiny": PyramidionConfig(
            hidden=128, layers=2, heads=4, feed_forward=512, max_length=512, block=64, halvings=(1, 1)
        ),
        "small": PyramidionConfig(
            hidden=256, layers=4, heads=4, feed_forward=1024, max_length=2048, block=256, halvings=(0, 1, 1, 0)
        ),
        "minilm": PyramidionConfig(
            core="bert",
            hidden=384,
            heads=12,
            feed_forward=1536,
            max_length=2048,
            halvings=(0, 0, 1, 1, 0, 0),
            adapter="gentle",
            norm_epsilon=LAYER_NORM_EPSILON,
        ),
        "base": PyramidionConfig(),
    },
    build=Pyramidion,
    initialise=initialise_as_fairseq,
    # Pooling drops words, which then get no label. The layout embedding distinguishes this encoder from a BERT.
    tagging={"encoder": "blockwise", "layout": "winding"},
    # An encoder that was trained without pooling has no scorers.
    may_lack=("pools.",),
    inherits={"hf": text_encoder(PYRAMIDION_FROM_PEER)},
)
