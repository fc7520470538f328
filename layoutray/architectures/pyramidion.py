"""Pyramidion, of "Sparsifying Transformer Models with Trainable Representation Pooling" (ACL 2022, arXiv:2009.05169).

An encoder of long texts that carries fewer tokens from layer to layer. Tokens attend to each other within blocks; after a layer, a scorer
says what each token is worth, and a differentiable top-k keeps the best of the whole text. What is left is short enough for a decoder
to attend to all of it.

    symbol      name here                       meaning
    E           embed(batch)                    √d · word + sinusoidal position
    v           pools[i].scorer                 what each token is worth
    Γ(E, v, k)  pools[i].pool                   Successive Halving Top-k
    n/k         2 ** halvings[i]                how many tokens become one after layer i
    c           block                           tokens that attend to each other

The family is one configuration:
    vanilla         block = 0, halvings = [0, 0]
    blockwise       block = 512, halvings = [0, 0]
    Transpooler     block = 512, halvings = [0, 2]: one pooling, after the last layer
    Pyramidion      block = 512, halvings = [1, 1]
    DeepPyramidion  the default: 8k, 8k, 2k, 512, 512, 512 tokens after each layer

Departures from the paper:
- The pyramid is said in halvings, so that it holds for any length. A text shorter than `max_length` is shortened in proportion, r tokens
  to ⌈r·k/n⌉ and with no padding among them; in the paper it is first padded to `max_length`.
- Padding is hidden from attention and weighs nothing in pooling. In the release it takes part in both, and the decoder sees it;
  `padding = "reference_parity"` does the same. Its plain model (no blocks, no pooling) does hide it from the encoder.
- Scores are σ(logit) + 1e-5 and the softmax is over 20ᵛ, as in the authors' release; outputs stay in document order, as the paper says,
  which is not the release's default (`order`).
- Layers that do not pool have no scorer; the release keeps one for each.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.architectures import Architecture, check_heads, check_ranges
from layoutray.errors import InputError
from layoutray.nn.attention import SelfAttention, attention_probabilities, split_heads
from layoutray.nn.block import EncoderLayer
from layoutray.nn.initialise import initialise_as_fairseq
from layoutray.nn.positions import sinusoids
from layoutray.nn.token_pooling import Halving, Pooled, hard_topk, successive_halving_topk, window_pool
from layoutray.nn.token_scoring import Name, Received, received_attention, scorer
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
        block: tokens that attend to each other; 0 is all of them.
        halvings: for each layer, how often the number of tokens is halved after it: 2 turns 8192 into 2048.
        pooling: how: the paper's operator, its hard counterpart, or mean or maximum of neighbours (Appendix A).
        scorer: what decides who is kept (Appendix A); the poolings of neighbours ask nobody.
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
    block: int = 512
    halvings: tuple[int, ...] = (0, 0, 2, 2, 0, 0)
    pooling: Literal["successive_halving", "hard", "mean", "max"] = "successive_halving"
    scorer: Name = "linear"
    order: Literal["document", "score"] = "document"
    padding: Literal["masked", "reference_parity"] = "masked"

    def __post_init__(self) -> None:
        check_ranges(self, smallest={"hidden": 4, "block": 0})
        check_heads(self, "hidden", "heads")
        if self.hidden % 2:
            raise InputError(f"hidden is {self.hidden}; it must be even, half of a position is sines")
        if len(self.halvings) != self.layers or min(self.halvings) < 0:
            raise InputError(f"halvings is {list(self.halvings)}; it must have a number of at least 0 for each of the {self.layers} layers")
        if self.pooling == "hard" and self.scorer in ("linear", "nonlinear"):
            raise InputError(f"scorer is {self.scorer!r}; under pooling 'hard' it gets no gradient, so take one that does not learn")
        if self.padding == "reference_parity":
            self._check_parity()

    def _check_parity(self) -> None:
        length = self.max_length
        for halvings in self.halvings:
            block = min(self.block or length, length)
            if length % block or length % 2**halvings:
                raise InputError(
                    f"max_length is {self.max_length}; with padding 'reference_parity' every layer must get whole blocks of {self.block} "
                    f"and a number of tokens that can be halved as often as `halvings` says; one gets {length}"
                )
            length //= 2**halvings


class Pooling(nn.Module):
    """Leaves one token in 2^halvings."""

    def __init__(self, config: PyramidionConfig, halvings: int) -> None:
        super().__init__()
        self.ratio = 2**halvings
        self.how = config.pooling
        self.halving = Halving(order=config.order)
        asks = config.pooling in ("successive_halving", "hard")
        self.scorer = scorer(config.scorer, config.hidden, config.dropout, self.ratio) if asks else None

    def forward(self, tokens: Encoded, received: Received) -> Encoded:
        states, mask, origin = (_padded(rows, self.ratio) for rows in (tokens.states, tokens.mask, tokens.origin))
        pooled = self.pool(states, mask, lambda: _padded(received(), self.ratio))
        return Encoded(pooled.states, pooled.mask, origin.gather(1, pooled.origin))

    def pool(self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"], received: Received) -> Pooled:
        """Γ, or what stands for it; `ratio` divides the length."""
        k = states.shape[1] // self.ratio
        if self.how == "mean" or self.how == "max":
            return window_pool(states, mask, k, self.how)
        assert self.scorer is not None
        scores = self.scorer(states, received)
        if self.how == "hard":
            return hard_topk(states, scores, mask, k)
        return successive_halving_topk(states, scores, mask, k, self.halving)


class Pyramidion(nn.Module):
    """Layers of blockwise attention, some of them followed by pooling."""

    def __init__(self, config: PyramidionConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = _EPSILON
        self.block = config.block
        self.pad_id = pad_id
        self.parity = config.padding == "reference_parity"
        self.hides_padding = not self.parity or not (config.block or any(config.halvings))
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(_layer(config) for _ in range(config.layers))
        self.pools = nn.ModuleDict({str(layer): Pooling(config, halvings) for layer, halvings in enumerate(config.halvings) if halvings})

    def forward(self, batch: Batch) -> Encoded:
        tokens = self._as_released(self.embed(batch)) if self.parity else self.embed(batch)
        for number, layer in enumerate(self.layers):
            encoded = replace(tokens, states=self._blockwise(layer, tokens))
            if str(number) in self.pools:
                encoded = self.pools[str(number)](encoded, partial(self._received, cast(EncoderLayer, layer), tokens))
            tokens = encoded
        return replace(tokens, mask=torch.ones_like(tokens.mask)) if self.parity else tokens

    def embed(self, batch: Batch) -> Encoded:
        """E, zero on padding. As in fairseq, the first position is the one after the padding id."""
        places = torch.arange(batch.input_ids.shape[1], device=batch.input_ids.device)
        states = self.word_embedding(batch.input_ids) * self.width**0.5 + sinusoids(places + self.pad_id + 1, self.width)
        return Encoded(self.dropout(states * batch.mask[..., None]), batch.mask, places.expand(batch.input_ids.shape))

    def _as_released(self, tokens: Encoded) -> Encoded:
        states, mask, origin = (_padded(rows, self.max_length) for rows in (tokens.states, tokens.mask, tokens.origin))
        return Encoded(states, mask if self.hides_padding else torch.ones_like(mask), origin)

    def _blockwise(self, layer: nn.Module, tokens: Encoded) -> Float[Tensor, "batch length width"]:
        return _joined(layer(*self._blocks(tokens)), tokens.mask)

    def _received(self, layer: EncoderLayer, tokens: Encoded) -> Float[Tensor, "batch length"]:
        """The attention that each of `tokens` has received in `layer`, from its block."""
        states, seen = self._blocks(tokens)
        attention = cast(SelfAttention, layer.attention)
        query, key = (split_heads(project(states), attention.heads) for project in (attention.query, attention.key))
        return _joined(received_attention(attention_probabilities(query, key, seen), seen), tokens.mask)

    def _blocks(self, tokens: Encoded) -> tuple[Float[Tensor, "blocks size width"], Bool[Tensor, "blocks size"]]:
        """States by block, and what is seen of each block: its real tokens, or all of a block that has none."""
        length = tokens.states.shape[1]
        size = min(self.block or length, length)
        states, seen = (
            rearrange(_padded(rows, size), "batch (blocks size) ... -> (batch blocks) size ...", size=size)
            for rows in (tokens.states, tokens.mask)
        )
        return states, seen | ~seen.any(1, keepdim=True)


def _joined(blocks: Tensor, mask: Bool[Tensor, "batch length"]) -> Tensor:
    """Blocks as whole texts again, cut to the length of `mask`."""
    return rearrange(blocks, "(batch blocks) size ... -> batch (blocks size) ...", batch=len(mask))[:, : mask.shape[1]]


def _padded(rows: Tensor, multiple: int) -> Tensor:
    """(batch, length, …) with zeros at the end, so that `multiple` divides the length."""
    return functional.pad(rows, (0, 0) * (rows.ndim - 2) + (0, -rows.shape[1] % multiple))


def _layer(config: PyramidionConfig) -> EncoderLayer:
    return EncoderLayer(
        SelfAttention(config.hidden, config.heads, config.attention_dropout),
        config.hidden,
        feed_forward=config.feed_forward,
        dropout=config.dropout,
        epsilon=_EPSILON,
        activation=functional.relu,
    )


def build(config: PyramidionConfig, *, vocab_size: int, pad_id: int) -> Pyramidion:
    """A Pyramidion with fairseq's initial weights."""
    encoder = Pyramidion(config, vocab_size=vocab_size, pad_id=pad_id)
    initialise_as_fairseq(encoder, config.hidden)
    return encoder


ARCHITECTURE = Architecture(
    name="pyramidion",
    config=PyramidionConfig,
    sizes={
        "tiny": PyramidionConfig(hidden=128, layers=2, heads=4, feed_forward=512, max_length=512, block=64, halvings=(1, 1)),
        "small": PyramidionConfig(hidden=256, layers=4, heads=4, feed_forward=1024, max_length=2048, block=256, halvings=(0, 1, 1, 0)),
        "base": PyramidionConfig(),
    },
    build=build,
    initialise=initialise_as_fairseq,
)
