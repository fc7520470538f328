"""Fewer tokens by queries that are means of tokens: "Funnel-Transformer: Filtering out Sequential Redundancy for Efficient Language
Processing" (NeurIPS 2020, arXiv:2006.03236).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from layoutray.nn.attention import MultiHeadAttention
from layoutray.nn.block import EncoderLayer
from layoutray.nn.blockwise_attention import padded
from layoutray.nn.token_pooling import window_pool
from layoutray.tensors import Encoded


def through_funnel(layers: Sequence[EncoderLayer], tokens: Encoded, stride: int) -> Encoded:
    """The first layer reads all tokens; the second shortens them, and the others read what is left (see `funnelled`).

    Each token has its state after the first layer, plus what its mean has become.
    """
    first, second, *others = layers
    whole = replace(tokens, states=first(tokens.states, tokens.mask))
    means = funnelled(second, whole, stride)
    for layer in others:
        means = replace(means, states=layer(means.states, means.mask))
    upsampled = means.states.repeat_interleave(stride, 1)[:, : whole.states.shape[1]]
    return replace(whole, states=whole.states + upsampled)


def funnelled(layer: EncoderLayer, tokens: Encoded, stride: int) -> Encoded:
    """What `layer` makes of the means h' of `stride` tokens side by side, which attend to all tokens h: LN(h' + Attention(h', h)),
    then feed-forward. The last mean may be of fewer tokens.
    """
    states, mask, origin = (padded(rows, stride) for rows in (tokens.states, tokens.mask, tokens.origin))
    pooled = window_pool(states, mask, states.shape[1] // stride, "mean")
    attention = cast(MultiHeadAttention, layer.attention)
    seen = mask | ~mask.any(1, keepdim=True)
    update = attention.recall(pooled.states, attention.remember(states), seen[:, None, None, :])
    return Encoded(layer.feed_forward(layer.join(pooled.states, update)), pooled.mask, origin.gather(1, pooled.origin))
