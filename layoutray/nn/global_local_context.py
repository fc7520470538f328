"""Attention among one global token and long ones, after ETC (arXiv:2004.08483): linear in length.

A long token sees the long tokens within `reach` to either side and the global token; the global token sees everything. The
probabilities of each are one softmax over all that it sees. Queries, keys and values come from the same projections for both.

Three computations give the same numbers: `dense_probabilities` holds length × length scores (tests, pictures), `banded_context` those of
the band, and `layoutray.nn.global_local_fused` none. Sequences have the global token first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from layoutray.nn.local_attention import in_a_row, in_blocks, seen_in_band, with_neighbours
from layoutray.nn.rich_attention import RichAxis, rich_scores
from layoutray.nn.rich_band import add_rich_scores


@dataclass(frozen=True)
class Attending:
    """What decides who attends to whom.

    Attributes:
        query: already divided by √size.
        mask: True on real long tokens; the global token always is real. Queries of padding attend to nothing.
        relative: what is added to the score of each long query and a key at the distances −clip … clip (and beyond them, as at them),
            and last to that of the global key; none where there are no relative positions.
        rich: axes of Rich Attention among long tokens; none where it is not used.
    """

    query: Float[Tensor, "batch heads tokens size"]
    key: Float[Tensor, "batch heads tokens size"]
    mask: Bool[Tensor, "batch length"]
    reach: int
    relative: Float[Tensor, "batch heads length relations"] | None = None
    rich: Sequence[RichAxis] = ()


def dense_probabilities(attending: Attending) -> Float[Tensor, "batch heads tokens tokens"]:
    """The probabilities as one matrix."""
    place = torch.arange(attending.mask.shape[1], device=attending.mask.device)
    offset = place - place[:, None]
    scores = attending.query @ attending.key.transpose(-1, -2)
    if attending.relative is not None:
        relative = attending.relative
        clip = relative.shape[-1] // 2 - 1
        among_long = relative.gather(-1, (offset.clamp(-clip, clip) + clip).expand(*relative.shape[:2], -1, -1))
        scores = scores + functional.pad(torch.cat([relative[..., -1:], among_long], -1), (0, 0, 1, 0))
    if attending.rich:
        scores = scores + functional.pad(rich_scores(attending.rich), (1, 0, 1, 0))
    seen = functional.pad(offset.abs() <= attending.reach, (1, 0, 1, 0), value=True)
    real = functional.pad(attending.mask, (1, 0), value=True)
    scores = scores.masked_fill(~(seen & real[:, None, None, :]), torch.finfo(scores.dtype).min)
    return scores.softmax(-1) * real[:, None, :, None].to(scores.dtype)


def banded_context(
    attending: Attending, value: Float[Tensor, "batch heads tokens size"], dropout: float
) -> Float[Tensor, "batch heads tokens size"]:
    """Sums of values under the probabilities, some of which are dropped, without a length × length matrix."""
    query, key, mask, reach = attending.query, attending.key, attending.mask, attending.reach
    real = functional.pad(mask, (1, 0), value=True)
    of_global = functional.scaled_dot_product_attention(
        query[:, :, :1], key, value, attn_mask=real[:, None, None, :], dropout_p=dropout, scale=1.0
    )
    scores = in_blocks(query[:, :, 1:], reach) @ _global_and_band(key, reach).transpose(-1, -2)
    if attending.relative is not None:
        scores = scores + _relative_band(in_blocks(attending.relative, reach))
    for axis in attending.rich:
        scores = add_rich_scores(scores.to(axis.theta.dtype), axis, reach)
    seen = functional.pad(seen_in_band(mask, reach), (1, 0), value=True)
    probabilities = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1).to(value.dtype)
    of_long = in_a_row(functional.dropout(probabilities, dropout) @ _global_and_band(value, reach), mask.shape[1])
    return torch.cat([of_global, of_long * mask[:, None, :, None].to(value.dtype)], dim=2)


def _global_and_band(
    states: Float[Tensor, "batch heads tokens size"], reach: int
) -> Float[Tensor, "batch heads blocks keys size"]:
    """What the queries of each block see: the global token, then the block between its neighbours."""
    band = with_neighbours(in_blocks(states[:, :, 1:], reach))
    return torch.cat([states[:, :, None, :1].expand(-1, -1, band.shape[2], -1, -1), band], dim=3)


def _relative_band(
    relative: Float[Tensor, "batch heads blocks reach relations"],
) -> Float[Tensor, "batch heads blocks reach keys"]:
    """What is added to the scores of the global key and of the band's, from what is added at each distance.

    For each query the distances 1 − 2·reach … 2·reach are written out. The keys of query n of a block start at place reach − 1 − n of
    them, one further to the left than those of the query before; in rows that are shorter by one, that is the same column for all.
    """
    reach, clip = relative.shape[-2], relative.shape[-1] // 2 - 1
    before = relative[..., :1].expand(-1, -1, -1, -1, 2 * reach - 1 - clip)
    after = relative[..., -2:-1].expand(-1, -1, -1, -1, 2 * reach - clip)
    written = torch.cat([before, relative[..., :-1], after], dim=-1)
    rows = written.flatten(-2)[..., reach - 1 : -1].unflatten(-1, (reach, 4 * reach - 1))
    return torch.cat([relative[..., -1:], rows[..., : 3 * reach]], dim=-1)
