"""Attention to tokens that hash alike: "Reformer: The Efficient Transformer" (ICLR 2020, arXiv:2001.04451).

Keys are the queries, at unit length, and tokens whose queries point the same way tend to fall into one bucket. In each of several rounds,
tokens are sorted by bucket and cut into chunks, and a token sees what is of its bucket in its chunk and in the one before. What comes out
is full attention, restricted to the union of what a token sees in all rounds. A token sees itself only where it sees nobody else.

Padding has a bucket of its own, behind all others. It therefore moves no real token into another chunk, and is seen by none.

Departures from the paper: before the first chunk there is none (there: the last one); the number of buckets follows from the longest text
and not from the one at hand, and rotations are drawn once and kept with the weights, so that a text's result depends on nothing else.
"""

import math
from typing import NamedTuple

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.attention import split_heads
from layoutray.nn.blockwise_attention import padded
from layoutray.nn.gathered_attention import listed

_ITSELF = -5e4
"""A token's score of itself: no weight beside any other; finite in every type."""


class Rounds(NamedTuple):
    """Where tokens fall in each round of hashing.

    Attributes:
        bucket: of each token.
        chunk: of each token.
        order: tokens from chunk to chunk; within a bucket as in the text.
    """

    bucket: Int[Tensor, "batch heads rounds length"]
    chunk: Int[Tensor, "batch heads rounds length"]
    order: Int[Tensor, "batch heads rounds length"]


class LshAttention(nn.Module):
    """Multi-head self-attention by hashing, with its output projection, without residual and norm.

    Args:
        longest: tokens of the longest text, which decides how many buckets there are: about one per chunk of it.
        chunk: tokens of a chunk.
        rounds: of hashing.
    """

    rotations: Tensor

    def __init__(self, width: int, heads: int, dropout: float, *, longest: int, chunk: int, rounds: int) -> None:
        super().__init__()
        self.heads = heads
        self.chunk = chunk
        self.dropout = nn.Dropout(dropout)
        self.query = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.register_buffer("rotations", torch.randn(width // heads, rounds, math.ceil(longest / (2 * chunk))))

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        whole = padded(states, self.chunk)
        query, value = (split_heads(project(whole), self.heads) for project in (self.query, self.value))
        rounds = rounds_of(query, padded(mask, self.chunk), self.rotations, self.chunk)
        context = lsh_context(query, value, rounds, self.chunk, self.dropout)
        return self.output(rearrange(context, "batch heads length size -> batch length (heads size)"))[
            :, : states.shape[1]
        ]


@torch.no_grad()
def rounds_of(
    query: Float[Tensor, "batch heads length size"],
    mask: Bool[Tensor, "batch length"],
    rotations: Float[Tensor, "size rounds half_buckets"],
    chunk: int,
) -> Rounds:
    """A query q falls into the bucket in which [qR | −qR] is largest; `chunk` divides the length."""
    rotated = torch.einsum("bhls, srk -> bhrlk", query, rotations.to(query.dtype))
    bucket = torch.cat([rotated, -rotated], -1).argmax(-1).masked_fill(~mask[:, None, None, :], 2 * rotations.shape[-1])
    order = bucket.argsort(dim=-1, stable=True)
    return Rounds(bucket, order.argsort(dim=-1) // chunk, order)


def lsh_context(
    query: Float[Tensor, "batch heads length size"],
    value: Float[Tensor, "batch heads length size"],
    rounds: Rounds,
    chunk: int,
    dropout: nn.Module,
) -> Float[Tensor, "batch heads length size"]:
    """Sums of values under attention to all that is seen in any round.

    Each round has probabilities of its own; rounds are weighed by their sums of exponentials, in which a token that is seen m times has
    the m-th part of its exponential each time.
    """
    asking = rearrange(
        rounds.order, "batch heads rounds (chunks chunk) -> batch heads rounds chunks chunk", chunk=chunk
    )
    before = functional.pad(asking, (0, 0, 1, 0))[..., :-1, :]
    asked = torch.cat([before, asking], -1)
    scores = listed(query, asking) @ listed(functional.normalize(query, dim=-1), asked).transpose(-1, -2)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    scores = (scores / math.sqrt(query.shape[-1])).masked_fill(asking[..., None] == asked[..., None, :], _ITSELF)
    seen, times = _sightings(rounds, asking, asked)
    scores = (scores - times.clamp(min=1).to(scores.dtype).log()).masked_fill(~seen, -math.inf)
    level = scores.logsumexp(-1, keepdim=True)
    context = dropout((scores - level).exp()).to(value.dtype) @ listed(value, asked)
    place = rounds.order.argsort(dim=-1)[..., None]
    context, level = (rearrange(each, "... chunks chunk size -> ... (chunks chunk) size") for each in (context, level))
    weight = level.gather(3, place).softmax(2).to(value.dtype)
    return (weight * context.gather(3, place.expand(*place.shape[:-1], context.shape[-1]))).sum(2)


def _sightings(
    rounds: Rounds,
    asking: Int[Tensor, "batch heads rounds chunks chunk"],
    asked: Int[Tensor, "batch heads rounds chunks two_chunks"],
) -> tuple[
    Bool[Tensor, "batch heads rounds chunks chunk two_chunks"],
    Int[Tensor, "batch heads rounds chunks chunk two_chunks"],
]:
    """Whether each pair is seen in the round whose list it is on, and in how many rounds in all."""
    count = rounds.bucket.shape[2]
    sightings = [_seen(rounds, other, asking, asked) for other in range(count)]
    own = torch.stack([sightings[number][:, :, number] for number in range(count)], 2)
    own[:, :, :, 0, :, : asking.shape[-1]] = False  # before the first chunk there is none
    return own, torch.stack(sightings).sum(0)


def _seen(
    rounds: Rounds,
    number: int,
    asking: Int[Tensor, "batch heads rounds chunks chunk"],
    asked: Int[Tensor, "batch heads rounds chunks two_chunks"],
) -> Bool[Tensor, "batch heads rounds chunks chunk two_chunks"]:
    """Whether round `number` shows each pair: its bucket is one, and the chunk of what is seen the same or the one before."""
    bucket, chunk = rounds.bucket[:, :, number, :, None], rounds.chunk[:, :, number, :, None]
    apart = listed(chunk, asking) - listed(chunk, asked).transpose(-1, -2)
    same = listed(bucket, asking) == listed(bucket, asked).transpose(-1, -2)
    return same & (apart >= 0) & (apart <= 1)
