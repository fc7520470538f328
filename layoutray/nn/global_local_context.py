"""Attention among long tokens and one global token, after ETC (arXiv:2004.08483): linear in length.

A long token sees the global token and the long tokens within `reach` on either side; the global token sees all tokens.
The attention probabilities of a token are one softmax over the tokens that it sees. Both kinds share the projections to
queries, keys and values.

Three computations give the same numbers: `dense_probabilities` stores length × length scores (for tests and pictures),
`banded_context` those of the band, and `layoutray.nn.global_local_fused` none. The global token comes first in a
sequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from layoutray.nn.local_attention import Band, from_blocks
from layoutray.nn.rich_attention import RichAxis, rich_scores
from layoutray.nn.rich_band import add_rich_scores


@dataclass(frozen=True, kw_only=True)
class AttentionInputs:
    """Everything that attention scores are computed from.

    Attributes:
        query: queries, already divided by √size.
        mask: True on real long tokens; the global token is always real. Queries of padding attend to nothing.
        relative: for each long query, the bias of its score with a key at distance −clip … clip (larger distances
            count as ±clip) and, last, with the global key; None without relative positions.
        rich: one entry per axis of Rich Attention among long tokens; empty without it.
    """

    query: Float[Tensor, "batch heads tokens size"]
    key: Float[Tensor, "batch heads tokens size"]
    mask: Bool[Tensor, "batch length"]
    reach: int
    relative: Float[Tensor, "batch heads length relations"] | None = None
    rich: Sequence[RichAxis] = ()


def dense_probabilities(inputs: AttentionInputs) -> Float[Tensor, "batch heads tokens tokens"]:
    """The attention probabilities as one matrix."""
    position = torch.arange(inputs.mask.shape[1], device=inputs.mask.device)
    offset = position - position[:, None]
    scores = inputs.query @ inputs.key.transpose(-1, -2)
    if inputs.relative is not None:
        relative = inputs.relative
        clip = relative.shape[-1] // 2 - 1
        among_long = relative.gather(-1, (offset.clamp(-clip, clip) + clip).expand(*relative.shape[:2], -1, -1))
        scores = scores + functional.pad(torch.cat([relative[..., -1:], among_long], -1), (0, 0, 1, 0))
    if inputs.rich:
        scores = scores + functional.pad(rich_scores(inputs.rich), (1, 0, 1, 0))
    seen = functional.pad(offset.abs() <= inputs.reach, (1, 0, 1, 0), value=True)
    real = functional.pad(inputs.mask, (1, 0), value=True)
    scores = scores.masked_fill(~(seen & real[:, None, None, :]), torch.finfo(scores.dtype).min)
    return scores.softmax(-1) * real[:, None, :, None].to(scores.dtype)


def banded_context(
    inputs: AttentionInputs, value: Float[Tensor, "batch heads tokens size"], dropout: float
) -> Float[Tensor, "batch heads tokens size"]:
    """The weighted sums of values, with attention dropout, without a length × length matrix."""
    query, key, mask = inputs.query, inputs.key, inputs.mask
    band = Band.of(mask.shape[1], inputs.reach)
    real = functional.pad(mask, (1, 0), value=True)
    global_context = functional.scaled_dot_product_attention(
        query[:, :, :1], key, value, attn_mask=real[:, None, None, :], dropout_p=dropout, scale=1.0
    )
    scores = band.query_blocks(query[:, :, 1:]) @ _global_and_band(key, band).transpose(-1, -2)
    if inputs.relative is not None:
        scores = scores + _relative_band(inputs.relative, band)
    for axis in inputs.rich:
        scores = add_rich_scores(scores.to(axis.theta.dtype), axis, band)
    seen = functional.pad(band.mask(mask), (1, 0), value=True)
    probabilities = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).to(value.dtype)
    long_context = from_blocks(
        functional.dropout(probabilities, dropout) @ _global_and_band(value, band), mask.shape[1]
    )
    return torch.cat([global_context, long_context * mask[:, None, :, None].to(value.dtype)], dim=2)


def _global_and_band(
    states: Float[Tensor, "batch heads tokens size"], band: Band
) -> Float[Tensor, "batch heads blocks keys size"]:
    """The keys of each block's queries: the global token, then those of the band."""
    keys = band.key_blocks(states[:, :, 1:])
    return torch.cat([states[:, :, None, :1].expand(-1, -1, keys.shape[2], -1, -1), keys], dim=3)


def _relative_band(
    relative: Float[Tensor, "batch heads length relations"], band: Band
) -> Float[Tensor, "batch heads blocks queries keys"]:
    """The bias of the scores of the global key and of the keys in the band, from the bias per distance.

    For each query, the biases at all distances between a query and a key of a block are laid out in a row, and one
    more. The keys of the last query of a block start at the first column of its row, those of query n − 1 one column to
    the right of those of query n. Reading the flattened rows with a row length shorter by one aligns all queries at the
    same column.
    """
    clip = relative.shape[-1] // 2 - 1
    smallest, largest = 1 - band.block - band.before, band.keys - band.before
    blocks = band.query_blocks(relative)
    distances = blocks[..., max(0, clip + smallest) : clip + 1 + min(clip, largest)]
    before = blocks[..., :1].expand(*blocks.shape[:-1], max(0, -clip - smallest))
    after = blocks[..., -2:-1].expand(*blocks.shape[:-1], max(0, largest - clip))
    by_distance = torch.cat([before, distances, after], dim=-1)
    rows = by_distance.flatten(-2)[..., band.block - 1 : -1]
    rows = rows.unflatten(-1, (band.block, band.block + band.keys - 1))
    return torch.cat([blocks[..., -1:], rows[..., : band.keys]], dim=-1)
