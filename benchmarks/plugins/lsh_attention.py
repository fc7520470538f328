"""Attention by locality-sensitive hashing: "Reformer: The Efficient Transformer" (ICLR 2020, arXiv:2001.04451).

Keys are the queries scaled to unit length. Tokens whose queries have similar directions tend to get the same hash
bucket. In each of several rounds, tokens are sorted by bucket and cut into chunks; a token sees the tokens of its
bucket in its chunk and in the previous chunk. The result is full attention restricted to the union of the tokens seen
in all rounds. A token attends to itself only if it sees no other token.

Padding has its own bucket, which is sorted last. It therefore moves no real token to another chunk, and no real token
sees it.

Departures from the paper, which make the result of a text independent of other texts and of chance:
- The first chunk has no previous chunk; in the paper it is the last chunk.
- The number of buckets depends on the maximum length, not on the length of the text.
- Rotations are drawn once and saved with the weights.

Here it is encoder `lsh` of the Pyramidion family. The LSH that the Pyramidion paper compares with (its Table 2) has two
heads with local windows; here all heads hash.
"""

import math
from typing import NamedTuple

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.architectures.pyramidion import PyramidionConfig
from layoutray.nn.attention import split_heads
from layoutray.nn.blockwise_attention import padded
from layoutray.nn.encoder_family import Member, no_halvings
from layoutray.nn.gathered_attention import gather_positions

_SELF_SCORE = -5e4
"""Score of a token with itself: weight 0 if it sees another token; finite in every type."""


class Rounds(NamedTuple):
    """Buckets and chunks of the tokens in each round of hashing.

    Attributes:
        bucket: the bucket of each token.
        chunk: the chunk of each token.
        order: positions of the tokens sorted by bucket; within a bucket in the order of the text.
    """

    bucket: Int[Tensor, "batch heads rounds length"]
    chunk: Int[Tensor, "batch heads rounds length"]
    order: Int[Tensor, "batch heads rounds length"]


class LshAttention(nn.Module):
    """Multi-head self-attention by hashing, with output projection, without residual and norm.

    Args:
        longest: maximum length of a text in tokens; the number of buckets is about `longest` / `chunk`.
        chunk: number of tokens per chunk.
        rounds: number of hash rounds.
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

    def projections(self) -> tuple[nn.Linear, ...]:
        """See `layoutray.nn.attention.HasProjections`; queries are also the keys."""
        return self.query, self.value

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        whole = padded(states, self.chunk)
        query, value = (split_heads(project(whole), self.heads) for project in (self.query, self.value))
        rounds = hash_rounds(query, padded(mask, self.chunk), self.rotations, self.chunk)
        context = lsh_context(query, value, rounds, self.chunk, self.dropout)
        return self.output(rearrange(context, "batch heads length size -> batch length (heads size)"))[
            :, : states.shape[1]
        ]


@torch.no_grad()
def hash_rounds(
    query: Float[Tensor, "batch heads length size"],
    mask: Bool[Tensor, "batch length"],
    rotations: Float[Tensor, "size rounds half_buckets"],
    chunk: int,
) -> Rounds:
    """The bucket of a query q is the argmax of [qR | −qR]. `chunk` must divide the length."""
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
    """Attention to all tokens that are seen in any round.

    Each round has its own probabilities. Rounds are weighted by their sums of exponentials. A token that is seen in m
    rounds counts with 1/m of its exponential in each.
    """
    queries = rearrange(
        rounds.order, "batch heads rounds (chunks chunk) -> batch heads rounds chunks chunk", chunk=chunk
    )
    previous = functional.pad(queries, (0, 0, 1, 0))[..., :-1, :]
    keys = torch.cat([previous, queries], -1)
    scores = gather_positions(query, queries) @ gather_positions(functional.normalize(query, dim=-1), keys).transpose(
        -1, -2
    )
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    scores = (scores / math.sqrt(query.shape[-1])).masked_fill(queries[..., None] == keys[..., None, :], _SELF_SCORE)
    seen, num_rounds = _visibility(rounds, queries, keys)
    scores = (scores - num_rounds.clamp(min=1).to(scores.dtype).log()).masked_fill(~seen, -math.inf)
    level = scores.logsumexp(-1, keepdim=True)
    context = dropout((scores - level).exp()).to(value.dtype) @ gather_positions(value, keys)
    position = rounds.order.argsort(dim=-1)[..., None]
    context, level = (rearrange(each, "... chunks chunk size -> ... (chunks chunk) size") for each in (context, level))
    weight = level.gather(3, position).softmax(2).to(value.dtype)
    return (weight * context.gather(3, position.expand(*position.shape[:-1], context.shape[-1]))).sum(2)


def _visibility(
    rounds: Rounds,
    queries: Int[Tensor, "batch heads rounds chunks chunk"],
    keys: Int[Tensor, "batch heads rounds chunks two_chunks"],
) -> tuple[
    Bool[Tensor, "batch heads rounds chunks chunk two_chunks"],
    Int[Tensor, "batch heads rounds chunks chunk two_chunks"],
]:
    """Whether the query sees the key in the round of the pair, and in how many rounds it sees the key."""
    count = rounds.bucket.shape[2]
    seen_in = [_seen(rounds, number, queries, keys) for number in range(count)]
    own = torch.stack([seen_in[number][:, :, number] for number in range(count)], 2)
    own[:, :, :, 0, :, : queries.shape[-1]] = False  # the first chunk has no previous chunk
    return own, torch.stack(seen_in).sum(0)


def _seen(
    rounds: Rounds,
    number: int,
    queries: Int[Tensor, "batch heads rounds chunks chunk"],
    keys: Int[Tensor, "batch heads rounds chunks two_chunks"],
) -> Bool[Tensor, "batch heads rounds chunks chunk two_chunks"]:
    """Whether the query sees the key in round `number`: same bucket, and key in the same or the previous chunk."""
    bucket, chunk = rounds.bucket[:, :, number, :, None], rounds.chunk[:, :, number, :, None]
    chunks_back = gather_positions(chunk, queries) - gather_positions(chunk, keys).transpose(-1, -2)
    same_bucket = gather_positions(bucket, queries) == gather_positions(bucket, keys).transpose(-1, -2)
    return same_bucket & (chunks_back >= 0) & (chunks_back <= 1)


def _attention(config: PyramidionConfig) -> LshAttention:
    return LshAttention(
        config.hidden,
        config.heads,
        config.attention_dropout,
        longest=config.max_length,
        chunk=config.lsh_chunk,
        rounds=config.lsh_rounds,
    )


ENCODER = Member(halvings=no_halvings, attention=_attention)
