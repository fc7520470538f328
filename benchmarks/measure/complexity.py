"""Cost of each encoder of the Pyramidion family by formula: multiplications and memory per layer for n tokens.

Multiplications are those of matrix products, including the padding that fills up blocks and chunks. Softmax, LayerNorm,
sorting and the sums of pooling are of order n·d and are left out. Memory is the number of elements in the attention
matrices of a layer, which a plain implementation keeps for its gradients, plus those of its input states.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from layoutray.architectures.pyramidion import PyramidionConfig
from layoutray.errors import InputError

ORDERS: Mapping[str, str] = {
    "vanilla": "l·n²·d",
    "blockwise": "l·n·c·d",
    "transpooler": "l·n·c·d",
    "pyramidion": "Σnᵢ·c·d",
    "deep_pyramidion": "Σnᵢ·c·d",
    "lsh": "l·n·r·b·d",
    "efficient": "l·n·d²/h",
    "power": "Σnᵢ·c·d",
    "funnel": "n²·d + l·(n/s)²·d",
}
"""Order of attention over all layers: l layers of width d, h heads, blocks of c tokens, nᵢ tokens in layer i, r hash
rounds with chunks of b tokens, stride s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    """Cost of one layer for one text.

    Attributes:
        tokens: input tokens.
        kept: output tokens.
        projections: multiplications for queries, keys, values and outputs.
        attention: multiplications for scores and weighted sums of values, and for hashing.
        feed_forward: multiplications of both products of the feed-forward block.
        pooling: multiplications for the scores that decide which tokens are kept.
        memory: stored elements.
    """

    tokens: int
    kept: int
    projections: int
    attention: int
    feed_forward: int
    pooling: int
    memory: int

    @property
    def multiplications(self) -> int:
        return self.projections + self.attention + self.feed_forward + self.pooling


def layer_costs(config: PyramidionConfig, length: int) -> list[LayerCost]:
    """Cost of each layer for one text of `length` tokens without padding.

    Raises:
        InputError: for a scorer other than the paper's.
    """
    if config.scorer != "linear":
        raise InputError(f"scorer is {config.scorer!r}; the formulas exist only for 'linear', the scorer of the paper")
    rows: list[LayerCost] = []
    tokens = length
    for layer, halvings in enumerate(config.halvings_per_layer):
        if config.encoder == "funnel":
            rows.append(_funnel_layer(config, length, layer))
            continue
        kept = math.ceil(tokens / 2**halvings)
        projections, attention, matrices = _attention(config, tokens)
        rows.append(
            LayerCost(
                tokens=tokens,
                kept=kept,
                projections=projections,
                attention=attention,
                feed_forward=2 * tokens * config.hidden * config.feed_forward,
                pooling=_pooling(config, tokens, kept * 2**halvings) if halvings else 0,
                memory=matrices + tokens * config.hidden,
            )
        )
        tokens = kept
    return rows


def decoder_keys(config: PyramidionConfig, length: int) -> int:
    """Number of encoder states that the decoder attends to for each word it generates."""
    return length if config.encoder == "funnel" else layer_costs(config, length)[-1].kept


def _attention(config: PyramidionConfig, tokens: int) -> tuple[int, int, int]:
    """Multiplications of projections and of attention, and elements of the attention matrices."""
    width, heads = config.hidden, config.heads
    if config.encoder == "efficient":
        return 4 * tokens * width**2, 2 * tokens * width**2 // heads, width**2 // heads
    if config.encoder == "lsh":
        whole = _filled(tokens, config.lsh_chunk)
        hashing = whole * width * config.lsh_rounds * math.ceil(config.max_length / (2 * config.lsh_chunk))
        scores = whole * config.lsh_rounds * 2 * config.lsh_chunk
        return 3 * whole * width**2, hashing + 2 * scores * width, heads * scores
    size = min(config.attention_block or tokens, tokens)
    whole = _filled(tokens, size)
    return 4 * whole * width**2, 2 * whole * size * width, heads * whole * size


def _pooling(config: PyramidionConfig, tokens: int, padded: int) -> int:
    if config.encoder != "power":
        return padded * config.hidden if config.pooling == "successive_halving" else 0
    # PoWER-like scores: queries and keys once more, attention scores, and sums of columns.
    size = min(config.attention_block or tokens, tokens)
    whole = _filled(tokens, size)
    return 2 * whole * config.hidden**2 + whole * size * (config.hidden + 1)


def _funnel_layer(config: PyramidionConfig, length: int, layer: int) -> LayerCost:
    stride, width = 2 ** sum(config.halvings), config.hidden
    means = math.ceil(length / stride)
    tokens = length if layer < 2 else means
    keys = means * stride if layer == 1 else tokens
    queries = length if layer == 0 else means
    return LayerCost(
        tokens=tokens,
        kept=queries,
        projections=2 * (queries + keys) * width**2,
        attention=2 * queries * keys * width,
        feed_forward=2 * queries * width * config.feed_forward,
        pooling=0,
        memory=config.heads * queries * keys + tokens * width,
    )


def _filled(tokens: int, size: int) -> int:
    return math.ceil(tokens / size) * size
