"""Successive Halving Top-k and its ablations: the properties stated in the paper, and independence of padding."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from layoutray.errors import InputError
from layoutray.nn.token_pooling import HalvingSettings, Pooled, hard_topk, successive_halving_topk, window_pool

Pool = Callable[[Tensor, Tensor, Tensor, int], Pooled]

POOLS: dict[str, Pool] = {
    "document": successive_halving_topk,
    "score": lambda *given: successive_halving_topk(*given, HalvingSettings(order="score")),
    "parallel": lambda *given: successive_halving_topk(*given, HalvingSettings(pairing="parallel")),
    "neighbours": lambda *given: successive_halving_topk(*given, HalvingSettings(pairing="neighbours")),
    "hard": hard_topk,
    "mean": lambda states, _scores, mask, k: window_pool(states, mask, k, "mean"),
    "max": lambda states, _scores, mask, k: window_pool(states, mask, k, "max"),
}
EVERY_POOL = pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)


def tokens(batch: int, length: int, real: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(length)
    states = torch.randn(batch, length, 6, dtype=torch.float64, generator=generator)
    scores = torch.rand(batch, length, dtype=torch.float64, generator=generator)
    return states, scores, (torch.arange(length) < (length if real is None else real)).expand(batch, -1)


def by_hand(states: Tensor, scores: Tensor, k: int) -> tuple[Tensor, list[int]]:
    """One document without padding, pair by pair, in document order."""
    entries = [(float(score), state, place) for place, (score, state) in enumerate(zip(scores, states, strict=True))]
    while len(entries) > k:
        ranked = sorted(entries, key=lambda entry: -entry[0])
        entries = []
        for strong, weak in zip(ranked[: len(ranked) // 2], reversed(ranked[len(ranked) // 2 :]), strict=True):
            powers = math.exp(20 ** strong[0]), math.exp(20 ** weak[0])
            share = powers[0] / sum(powers)
            mix = [share * one + (1 - share) * other for one, other in zip(strong[:2], weak[:2], strict=True)]
            entries.append((float(mix[0]), mix[1], strong[2]))
        entries.sort(key=lambda entry: entry[2])
    return torch.stack([state for _, state, _ in entries]), [place for *_, place in entries]


@pytest.mark.parametrize(("n", "k"), [(16, 4), (24, 3), (32, 1)])
def test_rounds_are_tournaments(n: int, k: int) -> None:
    states, scores, mask = tokens(2, n)
    found = successive_halving_topk(states, scores, mask, k)
    for row in range(2):
        expected, origin = by_hand(states[row], scores[row], k)
        torch.testing.assert_close(found.states[row], expected)
        assert found.origin[row].tolist() == origin


def test_neighbours_are_paired_in_the_order_of_the_document() -> None:
    states, _, mask = tokens(1, 8, 7)
    scores = torch.tensor([[0.2, 0.9, 0.5, 0.4, 0.1, 0.3, 0.6, 0.0]], dtype=torch.float64)
    found = successive_halving_topk(states, scores, mask, 2, HalvingSettings(pairing="neighbours"))
    assert found.mixture is not None
    assert found.mixture.tokens.sort().values.tolist() == [[[0, 1, 2, 3], [4, 5, 6, 7]]]
    assert found.origin.tolist() == [[1, 6]]
    powers = [math.exp(20**score) for score in (0.3, 0.1)]
    mixed = (0.3 * powers[0] + 0.1 * powers[1]) / sum(powers)
    powers = [math.exp(20**score) for score in (0.6, mixed)]
    assert found.mixture.weights[0, 1, 0].item() == pytest.approx(powers[0] / sum(powers))
    assert found.mixture.weights[found.mixture.tokens == 7].item() == 0


@EVERY_POOL
def test_keeping_all_is_the_identity(pool: Pool) -> None:
    states, scores, mask = tokens(2, 8)
    found = pool(states, scores, mask, 8)
    torch.testing.assert_close(found.states, states)
    assert found.origin.tolist() == [list(range(8))] * 2


def test_scores_far_below_the_top_get_a_gradient_and_hard_ones_get_none() -> None:
    states, scores, mask = tokens(1, 32)
    soft, hard = (part.clone().requires_grad_() for part in (scores, scores))
    rows = states.clone().requires_grad_()
    successive_halving_topk(states, soft, mask, 4).states.sum().backward()
    kept = hard_topk(rows, hard, mask, 4)
    kept.states.sum().backward()
    assert soft.grad is not None
    assert soft.grad.all()
    assert hard.grad is None
    assert rows.grad is not None
    assert (
        rows.grad.any(-1).nonzero()[:, 1].tolist()
        == kept.origin[0].tolist()
        == scores[0].topk(4).indices.sort().values.tolist()
    )


def test_outputs_have_the_configured_order() -> None:
    states, scores, mask = tokens(3, 64)
    by_place, by_score = (
        successive_halving_topk(states, scores, mask, 8, HalvingSettings(order=order))
        for order in ("document", "score")
    )
    assert (by_place.origin.diff() > 0).all()
    assert (scores.gather(1, by_score.origin).argmax(1) == 0).all()
    assert torch.equal(by_place.origin, by_score.origin.sort().values)


@EVERY_POOL
def test_a_batch_is_its_documents_one_by_one(pool: Pool) -> None:
    states, scores, _ = tokens(3, 32)
    mask = torch.arange(32) < torch.tensor([[32], [19], [3]])
    together = pool(states, scores, mask, 8)
    for row in range(3):
        alone = pool(states[row : row + 1], scores[row : row + 1], mask[row : row + 1], 8)
        for ours, theirs in zip(together[:4], alone[:4], strict=True):
            torch.testing.assert_close(ours[row], theirs[0])


@EVERY_POOL
@pytest.mark.parametrize("real", [1, 3, 4, 9, 13, 16])
def test_padding_does_not_change_the_result(pool: Pool, real: int) -> None:
    states, scores, mask = tokens(2, 16, real)
    found, whole = pool(states, scores, mask, 4), -(-real // 4)
    assert found.mask.tolist() == [[True] * whole + [False] * (4 - whole)] * 2
    assert (found.origin[found.mask] < real).all()
    assert not found.states[~found.mask].any()
    nearer = 4 * whole
    near = pool(states[:, :nearer], scores[:, :nearer], mask[:, :nearer], whole)
    torch.testing.assert_close(near.states, found.states[:, :whole])
    assert torch.equal(near.origin, found.origin[:, :whole])
    moved = torch.cat([torch.arange(real), torch.arange(real, 16).flip(0)])
    other = pool(states[:, moved].where(mask[..., None], 1e6), scores[:, moved].where(mask, 7.0), mask, 4)
    torch.testing.assert_close(other.states, found.states)


def test_in_parity_padding_takes_part_as_zeros() -> None:
    states, scores, mask = tokens(1, 16, 11)
    parity = HalvingSettings(padding="reference_parity")
    zeros = states.masked_fill(~mask[..., None], 0), scores.masked_fill(~mask, 1e-5), torch.ones_like(mask)
    found = successive_halving_topk(states, scores, mask, 4, parity)
    torch.testing.assert_close(found.states, successive_halving_topk(*zeros, 4).states)
    assert (found.states - successive_halving_topk(states, scores, mask, 4).states).abs().max() > 0.01


@EVERY_POOL
def test_a_document_of_padding_gives_zeros_and_no_nan(pool: Pool) -> None:
    states, scores, mask = tokens(2, 8, 0)
    states, scores = states.requires_grad_(), scores.requires_grad_()
    found = pool(states, scores, mask, 2)
    assert not found.mask.any()
    assert not found.states.any()
    found.states.sum().backward()
    assert states.grad is not None
    assert not states.grad.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("scale", [1, -30, 1e3, 1e30, -1e30])
def test_scores_of_any_size_give_no_nan(dtype: torch.dtype, scale: float) -> None:
    states, scores, mask = (part.to(dtype) if part.is_floating_point() else part for part in tokens(1, 16))
    states, scores = states.requires_grad_(), (scores * scale).requires_grad_()
    found = successive_halving_topk(states, scores, mask, 4)
    assert found.states.dtype == dtype
    found.states.sum().backward()
    assert all(
        part.isfinite().all() for part in (found.states, found.scores, scores.grad, states.grad) if part is not None
    )
    if scale >= 1e3 and dtype != torch.bfloat16:
        torch.testing.assert_close(found.states, hard_topk(states, scores, mask, 4).states)


def test_equal_large_scores_get_equal_weights() -> None:
    states, _, mask = tokens(1, 4)
    found = successive_halving_topk(states, torch.full((1, 4), 500.0, dtype=torch.float64), mask, 1)
    torch.testing.assert_close(found.states[0, 0], states[0].mean(0))


@pytest.mark.parametrize(
    ("pool", "n", "k", "message"),
    [
        ("document", 20, 6, "20 tokens cannot be halved to 6: .* pad to 24 tokens"),
        ("document", 8, 0, "k is 0; it must be at least 1 and at most the number of tokens, which is 8"),
        ("hard", 8, 9, "k is 9; it must be at least 1 and at most the number of tokens, which is 8"),
        ("mean", 8, 3, "k is 3; it must be at least 1 and divide the number of tokens, which is 8"),
    ],
)
def test_impossible_numbers_of_outputs_are_refused(pool: str, n: int, k: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        POOLS[pool](*tokens(1, n), k)


def test_a_base_that_prefers_the_weaker_is_refused() -> None:
    with pytest.raises(InputError, match=r"base is 0\.5; it must be above 1"):
        HalvingSettings(base=0.5)


@pytest.mark.parametrize("name", ["document", "score", "parallel", "neighbours", "hard", "mean"])
@pytest.mark.parametrize("real", [32, 21, 3])
def test_each_output_equals_its_mixture(name: str, real: int) -> None:
    states, scores, mask = tokens(2, 32, real)
    found = POOLS[name](states, scores, mask, 4)
    assert found.mixture is not None
    parts = states[torch.arange(2)[:, None, None], found.mixture.tokens] * found.mixture.weights[..., None]
    torch.testing.assert_close(parts.sum(2), found.states)
    totals = found.mixture.weights.sum(2)
    torch.testing.assert_close(totals, found.mask.to(totals.dtype))
    inside = found.mixture.tokens[found.mixture.weights > 0]
    assert int(inside.max()) < real


def test_maxima_have_no_mixture() -> None:
    assert POOLS["max"](*tokens(1, 8), 2).mixture is None


def test_the_origin_of_an_output_may_not_have_the_largest_weight() -> None:
    """The pair of the second and third token narrowly beats the pair of the first and the last.

    Each of the two tokens gets about half of the weight of their pair; the first gets nearly all of its pair.
    """
    scores = torch.tensor([[0.6, 0.599, 0.598, 0.0]], dtype=torch.float64)
    found = successive_halving_topk(
        torch.eye(4, dtype=torch.float64)[None], scores, torch.ones(1, 4, dtype=torch.bool), 1
    )
    assert found.mixture is not None
    assert found.origin.tolist() == [[1]]
    assert found.mixture.tokens[0, 0, found.mixture.weights[0, 0].argmax()] == found.states[0, 0].argmax() == 0
