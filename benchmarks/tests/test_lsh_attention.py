"""LSH attention equals full attention restricted to the union of the visible tokens of all rounds."""

import math

import pytest
import torch
from torch import Tensor, nn

from benchmarks.plugins.lsh_attention import LshAttention, Rounds, hash_rounds, lsh_context

HEADS, SIZE = 2, 4


def hashed(length: int, chunk: int, rounds: int, padding: int = 0) -> tuple[Tensor, Tensor, Tensor, Rounds]:
    """Queries, values, mask and hash rounds of two texts; the second ends in padding. Tokens share the 6 buckets."""
    torch.manual_seed(length + rounds)
    query, value = torch.randn(2, 2, HEADS, length, SIZE, dtype=torch.float64)
    mask = torch.ones(2, length, dtype=torch.bool)
    mask[1, length - padding :] = False
    return query, value, mask, hash_rounds(query, mask, torch.randn(SIZE, rounds, 3), chunk)


def seen_one_by_one(rounds: Rounds, chunk: int) -> Tensor:
    """Visible pairs, computed in a loop over the sorted tokens."""
    batch, heads, count, length = rounds.bucket.shape
    seen = torch.zeros(batch, heads, length, length, dtype=torch.bool)
    for text, head, number in torch.cartesian_prod(
        torch.arange(batch), torch.arange(heads), torch.arange(count)
    ).tolist():
        bucket = rounds.bucket[text, head, number].tolist()
        row = sorted(range(length), key=lambda token, bucket=bucket: (bucket[token], token))
        for place, token in enumerate(row):
            start = place // chunk * chunk
            for other in row[max(0, start - chunk) : start + chunk]:
                seen[text, head, token, other] |= bucket[other] == bucket[token]
    return seen


def brute_force(query: Tensor, value: Tensor, seen: Tensor) -> Tensor:
    scores = query @ nn.functional.normalize(query, dim=-1).transpose(-1, -2) / math.sqrt(SIZE)
    itself = torch.eye(query.shape[2], dtype=torch.bool)
    alone = (seen & ~itself).sum(-1, keepdim=True) == 0
    return scores.masked_fill(~(seen & (~itself | alone)), -math.inf).softmax(-1) @ value


@pytest.mark.parametrize(
    ("length", "chunk", "rounds", "padding"), [(8, 8, 1, 0), (24, 4, 1, 0), (24, 4, 3, 0), (32, 2, 4, 7), (8, 1, 5, 8)]
)
def test_it_equals_full_attention_on_the_union_of_visible_tokens(
    length: int, chunk: int, rounds: int, padding: int
) -> None:
    query, value, mask, fallen = hashed(length, chunk, rounds, padding)
    seen = seen_one_by_one(fallen, chunk)
    assert not (seen & ~mask[:, None, None, :] & mask[:, None, :, None]).any(), "no real token sees padding"
    expected = brute_force(query, value, seen)
    torch.testing.assert_close(lsh_context(query, value, fallen, chunk, nn.Identity()), expected)


def test_a_bucket_is_the_nearest_direction() -> None:
    query, _, mask, _ = hashed(8, 4, 1)
    rotations = torch.randn(SIZE, 2, 3)
    found = hash_rounds(query, mask, rotations, 4).bucket
    for number in range(2):
        directions = torch.cat([rotations[:, number], -rotations[:, number]], 1).double()
        assert torch.equal(found[:, :, number], (query @ directions).argmax(-1))


def test_with_one_chunk_and_one_bucket_it_is_full_attention_to_others() -> None:
    query, value, _, fallen = hashed(12, 12, 2)
    together = Rounds(torch.zeros_like(fallen.bucket), torch.zeros_like(fallen.chunk), fallen.order)
    everything = torch.ones(2, HEADS, 12, 12, dtype=torch.bool)
    torch.testing.assert_close(
        lsh_context(query, value, together, 12, nn.Identity()), brute_force(query, value, everything), atol=1e-5, rtol=0
    )


@torch.no_grad()
@pytest.mark.parametrize("length", [1, 7, 8, 30])
def test_padding_does_not_change_a_text_of_any_length(length: int) -> None:
    torch.manual_seed(0)
    attention = LshAttention(HEADS * SIZE, HEADS, 0.0, longest=64, chunk=8, rounds=3)
    states, mask = torch.randn(2, length, HEADS * SIZE), torch.ones(2, length, dtype=torch.bool)
    alone = attention(states, mask)
    beside = attention(nn.functional.pad(states, (0, 0, 0, 21), value=3.0), nn.functional.pad(mask, (0, 21)))
    assert alone.shape == states.shape
    torch.testing.assert_close(beside[:, :length], alone, atol=1e-6, rtol=0)
    assert beside.isfinite().all()


def test_no_tensor_grows_with_the_square_of_the_length() -> None:
    attention = LshAttention(HEADS * SIZE, HEADS, 0.0, longest=512, chunk=8, rounds=2)
    largest: list[int] = []
    for length in (128, 256, 512):
        sizes: list[int] = []

        def note(saved: Tensor, sizes: list[int] = sizes) -> Tensor:
            sizes.append(saved.numel())
            return saved

        with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
            attention(torch.randn(1, length, HEADS * SIZE), torch.ones(1, length, dtype=torch.bool)).sum().backward()
        largest.append(max(sizes))
    assert largest[2] == 2 * largest[1] == 4 * largest[0]
