"""What each encoder of the Pyramidion family costs, by formula: multiplications and memory, layer by layer, for a text of n tokens.

What is counted are the multiplications of matrix products, with the padding that fills up blocks and chunks. Softmax, LayerNorm, sorting
and the sums of pooling are of order n·d and are left out. Memory is the numbers of the attention matrices of a layer, which a plain
implementation keeps for its gradients, and of the states that come in.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from layoutray.architectures.pyramidion import PyramidionConfig
from layoutray.errors import InputError
from layoutray.nn.encoder_family import EncoderName

ORDERS: Mapping[EncoderName, str] = {
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
"""Of attention, in all: l layers of width d, h heads, blocks of c, nᵢ tokens before layer i, r rounds with chunks of b, stride s."""


@dataclass(frozen=True, slots=True)
class LayerCost:
    """One layer on one text.

    Attributes:
        tokens: that come in.
        kept: that go on.
        projections: multiplications of queries, keys, values and outputs.
        attention: of scores and of sums of values; of hashing too.
        feed_forward: of both of its products.
        pooling: of what decides who is kept.
        memory: numbers held.
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
    """For each layer, of one text without padding.

    Raises:
        InputError: for a scorer that is not the paper's.
    """
    if config.scorer != "linear":
        raise InputError(f"scorer is {config.scorer!r}; costs are known of 'linear', the paper's own")
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
                tokens,
                kept,
                projections,
                attention,
                2 * tokens * config.hidden * config.feed_forward,
                _pooling(config, tokens, kept * 2**halvings) if halvings else 0,
                matrices + tokens * config.hidden,
            )
        )
        tokens = kept
    return rows


def seen_by_decoder(config: PyramidionConfig, length: int) -> int:
    """States that a decoder attends to for each word that it writes."""
    return length if config.encoder == "funnel" else layer_costs(config, length)[-1].kept


def _attention(config: PyramidionConfig, tokens: int) -> tuple[int, int, int]:
    """Multiplications of projections and of attention, and numbers of the attention matrices."""
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
    # Queries and keys again, their scores, and the sums of columns.
    size = min(config.attention_block or tokens, tokens)
    whole = _filled(tokens, size)
    return 2 * whole * config.hidden**2 + whole * size * (config.hidden + 1)


def _funnel_layer(config: PyramidionConfig, length: int, layer: int) -> LayerCost:
    stride, width = 2 ** sum(config.halvings_per_layer), config.hidden
    means = math.ceil(length / stride)
    tokens = length if layer < 2 else means
    keys = means * stride if layer == 1 else tokens
    queries = length if layer == 0 else means
    return LayerCost(
        tokens,
        queries,
        2 * (queries + keys) * width**2,
        2 * queries * keys * width,
        2 * queries * width * config.feed_forward,
        0,
        config.heads * queries * keys + tokens * width,
    )


def _filled(tokens: int, size: int) -> int:
    return math.ceil(tokens / size) * size
