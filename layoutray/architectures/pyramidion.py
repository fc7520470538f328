"""Pyramidion, of "Sparsifying Transformer Models with Trainable Representation Pooling" (ACL 2022, arXiv:2009.05169).

An encoder of long texts that carries fewer tokens from layer to layer. Tokens attend to each other within blocks; after a layer, a scorer
says what each token is worth, and a differentiable top-k keeps the best of the whole text. What is left is short enough for a decoder
to attend to all of it.

    symbol      name here                       meaning
    E           embed(batch)                    √d · word + sinusoidal position (+ where it stands on the page)
    v           pools[i].scorer                 what each token is worth
    Γ(E, v, k)  pools[i].pool                   Successive Halving Top-k
    n/k         2 ** halvings[i]                how many tokens become one after layer i
    c           block                           tokens that attend to each other

The family, and the peers that the paper compares it with (Table 2), are the values of `encoder`:

    vanilla           all tokens attend to all
    blockwise         within blocks
    transpooler       within blocks; one pooling, after the last layer
    pyramidion        within blocks; pooling step by step
    deep_pyramidion   within blocks; pooling as `halvings` says: 8k, 8k, 2k, 512, 512, 512 tokens after each layer
    lsh               Reformer (2001.04451): to tokens that hash alike
    efficient         Efficient Attention (1812.01243): keys and values meet first
    power             PoWER-BERT (2001.08950): as deep_pyramidion, but the tokens are kept that received the most attention, unmixed
    funnel            Funnel-Transformer (2006.03236): means of neighbours query all tokens of the layer before

Departures from the paper:
- The pyramid is said in halvings, so that it holds for any length. A text shorter than `max_length` is shortened in proportion, r tokens
  to ⌈r·k/n⌉ and with no padding among them; in the paper it is first padded to `max_length`.
- Padding is hidden from attention and weighs nothing in pooling. In the release it takes part in both, and the decoder sees it;
  `padding = "reference_parity"` does the same. Its plain model (no blocks, no pooling) does hide it from the encoder.
- All encoders that shorten a text shorten it by the factor that `halvings` comes to. Funnel's means attend to the whole text, and what
  they become is added, for each token, to its state after the first layer, so that a decoder sees every token.
- The paper reads text alone; `layout` lets it know where on the page a token stands, so that places too decide who is kept.
- The paper's LSH keeps two heads within local windows; here all heads hash.
- Scores are σ(logit) + 1e-5 and the softmax is over 20ᵛ, as in the authors' release; outputs stay in document order, as the paper says,
  which is not the release's default (`order`).
- Layers that do not pool have no scorer; the release keeps one for each.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.architectures import Architecture, check_heads, check_ranges
from layoutray.errors import InputError
from layoutray.nn import encoder_family, layout_input
from layoutray.nn.block import EncoderLayer
from layoutray.nn.blockwise_attention import BlockwiseAttention, padded
from layoutray.nn.efficient_attention import EfficientAttention
from layoutray.nn.funnel import funnel_encode
from layoutray.nn.initialise import initialise_as_fairseq
from layoutray.nn.lsh_attention import LshAttention
from layoutray.nn.pooling_layer import POWER, Pooling, PoolingKind, PoolingMethod
from layoutray.nn.positions import sinusoids
from layoutray.nn.token_scoring import ScorerName
from layoutray.tensors import Batch, Encoded

_EPSILON = 1e-5


@dataclass(frozen=True)
class PyramidionConfig:
    """The defaults are the paper's DeepPyramidion.

    Attributes:
        hidden: width d of the states; even.
        layers: number of encoder layers.
        heads: attention heads per layer.
        feed_forward: inner width of feed-forward blocks.
        dropout: on embeddings, updates and heads.
        attention_dropout: on attention probabilities.
        max_length: longest text in tokens.
        encoder: which of the family; see the module's docstring.
        layout: what is added to the input: Skimformer's embedding of `boxes`, LAMBERT's `winding` one, or `none`, as in the paper.
        block: tokens that attend to each other; 0 is all of them.
        halvings: for each layer, how often deep_pyramidion halves the number of tokens after it: 2 turns 8192 into 2048.
        pooling: how: the paper's operator, its hard counterpart, or mean or maximum of neighbours (Appendix A).
        scorer: what decides who is kept (Appendix A); the poolings of neighbours ask nobody.
        lsh_chunk: of lsh: tokens that are sorted into one chunk.
        lsh_rounds: of lsh: how often tokens are hashed.
        order: of what Successive Halving keeps: as in the `document`, or by `score`, the release's default.
        padding: `masked`, or as in the release, `reference_parity`: padded to `max_length` and seen by all.
    """

    hidden: int = 768
    layers: int = 6
    heads: int = 8
    feed_forward: int = 3072
    dropout: float = 0.1
    attention_dropout: float = 0.1
    max_length: int = 8192
    encoder: encoder_family.EncoderName = "deep_pyramidion"
    layout: layout_input.LayoutInputName = "none"
    block: int = 512
    halvings: tuple[int, ...] = (0, 0, 2, 2, 0, 0)
    pooling: PoolingMethod = "successive_halving"
    scorer: ScorerName = "linear"
    lsh_chunk: int = 64
    lsh_rounds: int = 4
    order: Literal["document", "score"] = "document"
    padding: Literal["masked", "reference_parity"] = "masked"

    def __post_init__(self) -> None:
        check_ranges(self, smallest={"hidden": 4, "block": 0})
        check_heads(self, "hidden", "heads")
        if self.hidden % 2:
            raise InputError(f"hidden is {self.hidden}; it must be even, half of a position is sines")
        if self.layout == "winding" and self.hidden % 8:
            raise InputError(
                f"hidden is {self.hidden}; eight must divide it: a cosine and a sine of each of four coordinates"
            )
        if len(self.halvings) != self.layers or min(self.halvings) < 0:
            raise InputError(
                f"halvings is {list(self.halvings)}; it must have a number of at least 0 for each of the {self.layers} layers"
            )
        if self.pooling == "hard" and self.scorer in ("linear", "nonlinear"):
            raise InputError(
                f"scorer is {self.scorer!r}; under pooling 'hard' it gets no gradient, so take one that does not learn"
            )
        if self.encoder == "funnel" and self.layers < 2:
            raise InputError("layers is 1; encoder 'funnel' needs 2, for the means are the queries of the second")
        if self.padding == "reference_parity":
            self._check_parity()

    @property
    def halvings_per_layer(self) -> tuple[int, ...]:
        """For each layer, how often the number of tokens is halved after it."""
        return encoder_family.halvings_per_layer(self.encoder, self.halvings)

    @property
    def attention_block(self) -> int:
        """Tokens that attend to each other in blocks; 0 is all of them."""
        return 0 if self.encoder in ("vanilla", "funnel") else self.block

    def _check_parity(self) -> None:
        if self.encoder in ("lsh", "efficient", "power", "funnel"):
            raise InputError(
                f"encoder is {self.encoder!r}; with padding 'reference_parity' it must be one of the release's own"
            )
        length = self.max_length
        for halvings in self.halvings_per_layer:
            block = min(self.attention_block or length, length)
            if length % block or length % 2**halvings:
                raise InputError(
                    f"max_length is {self.max_length}; with padding 'reference_parity' every layer must get whole blocks of {self.block} "
                    f"and a number of tokens that can be halved as often as `halvings` says; one gets {length}"
                )
            length //= 2**halvings


class Pyramidion(nn.Module):
    """Layers of attention, some of them followed by pooling."""

    def __init__(self, config: PyramidionConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = _EPSILON
        self.pad_id = pad_id
        self.parity = config.padding == "reference_parity"
        self.hides_padding = not self.parity or not (config.attention_block or any(config.halvings_per_layer))
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.layout = layout_input.layout_input(config.layout, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(_layer(config) for _ in range(config.layers))
        self.funnel = 2 ** sum(config.halvings_per_layer) if config.encoder == "funnel" else 0
        pooled = () if self.funnel else enumerate(config.halvings_per_layer)
        self.pools = nn.ModuleDict({str(layer): _pooling(config, halvings) for layer, halvings in pooled if halvings})
        self.has_mixture = any(cast(Pooling, pool).method != "max" for pool in self.pools.values())

    def forward(self, batch: Batch) -> Encoded:
        tokens = self.encode(self._as_released(self.embed(batch)) if self.parity else self.embed(batch))
        return replace(tokens, mask=torch.ones_like(tokens.mask)) if self.parity else tokens

    def embed(self, batch: Batch) -> Encoded:
        """E, zero on padding. As in fairseq, the first position is the one after the padding id."""
        places = torch.arange(batch.input_ids.shape[1], device=batch.input_ids.device)
        states = self.word_embedding(batch.input_ids) * self.width**0.5 + sinusoids(
            places + self.pad_id + 1, self.width
        )
        if self.layout is not None:
            states = states + self.layout(batch)
        return Encoded(self.dropout(states * batch.mask[..., None]), batch.mask, places.expand(batch.input_ids.shape))

    def encode(self, tokens: Encoded) -> Encoded:
        """What is left of embedded tokens after all layers."""
        if self.funnel:
            return funnel_encode([cast(EncoderLayer, layer) for layer in self.layers], tokens, self.funnel)
        for number, layer in enumerate(self.layers):
            encoded = replace(tokens, states=layer(tokens.states, tokens.mask))
            if str(number) in self.pools:
                encoded = self.pools[str(number)](encoded, partial(_received, layer, tokens))
            tokens = encoded
        return tokens

    def _as_released(self, tokens: Encoded) -> Encoded:
        states, mask, origin = (padded(rows, self.max_length) for rows in (tokens.states, tokens.mask, tokens.origin))
        return Encoded(states, mask if self.hides_padding else torch.ones_like(mask), origin)


def _received(layer: nn.Module, tokens: Encoded) -> Float[Tensor, "batch length"]:
    """The attention that each of `tokens` has received in `layer`, from its block."""
    return cast(BlockwiseAttention, layer.attention).received(tokens.states, tokens.mask)


def _pooling(config: PyramidionConfig, halvings: int) -> Pooling:
    kind = POWER if config.encoder == "power" else PoolingKind(config.pooling, config.scorer, config.order)
    return Pooling(kind, halvings, width=config.hidden, dropout=config.dropout)


def _layer(config: PyramidionConfig) -> EncoderLayer:
    return EncoderLayer(
        _attention(config),
        config.hidden,
        feed_forward=config.feed_forward,
        dropout=config.dropout,
        epsilon=_EPSILON,
        activation=functional.relu,
    )


def _attention(config: PyramidionConfig) -> nn.Module:
    width, heads, dropout = config.hidden, config.heads, config.attention_dropout
    match config.encoder:
        case "lsh":
            return LshAttention(
                width, heads, dropout, longest=config.max_length, chunk=config.lsh_chunk, rounds=config.lsh_rounds
            )
        case "efficient":
            return EfficientAttention(width, heads)
        case _:
            return BlockwiseAttention(width, heads, dropout, config.attention_block)


def build(config: PyramidionConfig, *, vocab_size: int, pad_id: int) -> Pyramidion:
    """An encoder of the family with fairseq's initial weights."""
    encoder = Pyramidion(config, vocab_size=vocab_size, pad_id=pad_id)
    initialise_as_fairseq(encoder, config.hidden)
    return encoder


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
        "base": PyramidionConfig(),
    },
    build=build,
    initialise=initialise_as_fairseq,
)
