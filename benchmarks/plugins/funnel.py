"""Shortening a sequence by queries that are means of neighbouring tokens.

"Funnel-Transformer: Filtering out Sequential Redundancy for Efficient Language Processing" (NeurIPS 2020,
arXiv:2006.03236). Here it is encoder `funnel` of the Pyramidion family.

It shortens a text by the product of all halvings. Its means attend to the whole text, and the final state of a mean is
added to the first-layer states of its tokens: a decoder sees every token.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from torch import nn

from layoutray.architectures.pyramidion import PyramidionConfig, blockwise
from layoutray.errors import InputError
from layoutray.nn.attention import MultiHeadAttention, VisibleKeys
from layoutray.nn.block import EncoderLayer
from layoutray.nn.blockwise_attention import padded
from layoutray.nn.encoder_family import Member, no_halvings
from layoutray.nn.token_pooling import window_pool
from layoutray.tensors import Encoded


def funnel_encode(layers: Sequence[EncoderLayer], tokens: Encoded, stride: int) -> Encoded:
    """The first layer reads all tokens, the second shortens the sequence (`funnel_layer`), the others read the result.

    The state of each token is its state after the first layer plus the final state of the mean that it is part of.
    """
    first, second, *others = layers
    whole = replace(tokens, states=first(tokens.states, tokens.mask))
    means = funnel_layer(second, whole, stride)
    for layer in others:
        means = replace(means, states=layer(means.states, means.mask))
    upsampled = means.states.repeat_interleave(stride, 1)[:, : whole.states.shape[1]]
    return replace(whole, states=whole.states + upsampled)


def funnel_layer(layer: EncoderLayer, tokens: Encoded, stride: int) -> Encoded:
    """The output of `layer` for the means h' of every `stride` tokens: LN(h' + Attention(h', h)), then feed-forward.

    The queries are the means, the keys are all tokens h. The last mean may be of fewer tokens.
    """
    states, mask, origin = (padded(rows, stride) for rows in (tokens.states, tokens.mask, tokens.origin))
    pooled = window_pool(states, mask, states.shape[1] // stride, "mean")
    attention = cast(MultiHeadAttention, layer.attention)
    visible = mask | ~mask.any(1, keepdim=True)
    update = attention.attend(pooled.states, attention.keys_and_values(states), VisibleKeys.of_all_queries(visible))
    return Encoded(
        states=layer.feed_forward(layer.join(pooled.states, update)),
        mask=pooled.mask,
        origin=origin.gather(1, pooled.origin),
    )


def _attention(config: PyramidionConfig) -> nn.Module:
    if config.layers < 2:
        raise InputError("layers is 1; encoder 'funnel' needs at least 2: the means are queries of the second layer")
    return blockwise(config)


def _run(config: PyramidionConfig, layers: Sequence[EncoderLayer], tokens: Encoded) -> Encoded:
    return funnel_encode(layers, tokens, 2 ** sum(config.halvings))


ENCODER = Member(halvings=no_halvings, in_blocks=False, attention=_attention, run=_run)
