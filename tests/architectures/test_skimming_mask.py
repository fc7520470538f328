"""What SkimmingMask lets its text layers see."""

from dataclasses import replace

import torch
from torch import Tensor

from layoutray.architectures.skimming_mask import ARCHITECTURE, skimming_mask
from tests.architectures.contract import build, padded, random_batch

TINY = ARCHITECTURE.sizes["tiny"]


def brute_force(attention: Tensor, mask: Tensor, top_k: int) -> Tensor:
    seen = torch.zeros_like(attention, dtype=torch.bool)
    for row, head, query in torch.cartesian_prod(*(torch.arange(size) for size in attention.shape[:3])).tolist():
        scores = attention[row, head, query].tolist()
        best = sorted(range(len(scores)), key=lambda key: (-scores[key], key))[:top_k]
        seen[row, head, query, [key for key in best if mask[row, key]]] = True
    return seen


def test_the_k_most_attended_are_seen_the_earlier_one_among_equals() -> None:
    torch.manual_seed(0)
    attention = (torch.rand(2, 3, 9, 9) * 5).round().softmax(-1)
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[1, 6:] = False
    for top_k in (1, 4, 9, 100):
        assert torch.equal(skimming_mask(attention, mask, top_k), brute_force(attention, mask, top_k))


@torch.no_grad()
def test_with_k_of_all_tokens_the_skimmer_does_not_matter() -> None:
    encoder, batch = build(ARCHITECTURE, replace(TINY, top_k=1000)).eval(), padded(random_batch())
    before = encoder(batch).states
    moved = replace(batch, boxes=batch.boxes.flip(1))
    assert torch.equal(encoder(moved).states[batch.mask], before[batch.mask])
    few = build(ARCHITECTURE, replace(TINY, top_k=4)).eval()
    assert not torch.equal(few(moved).states[batch.mask], few(batch).states[batch.mask])


@torch.no_grad()
def test_on_layoutlm_boxes_are_seen_by_the_text_layers_too() -> None:
    encoder, batch = build(ARCHITECTURE, replace(TINY, core="layoutlm", top_k=1000)).eval(), random_batch()
    assert not torch.equal(encoder(replace(batch, boxes=batch.boxes.flip(1))).states, encoder(batch).states)


def test_the_skimmer_learns_nothing_and_drops_nothing() -> None:
    encoder, batch = build(ARCHITECTURE, TINY).train(), random_batch()
    assert torch.equal(encoder.skimmer(batch.boxes, batch.mask), encoder.skimmer(batch.boxes, batch.mask))
    encoder(batch).states.pow(3).sum().backward()
    assert all(parameter.grad is None for parameter in encoder.skimmer.parameters())
    assert not any(parameter.requires_grad for parameter in encoder.skimmer.parameters())


@torch.no_grad()
def test_gathering_what_the_mask_leaves_changes_nothing() -> None:
    dense = build(ARCHITECTURE, replace(TINY, top_k=4)).eval()
    gathered = build(ARCHITECTURE, replace(TINY, top_k=4, attention="gathered", block=4)).eval()
    batch = padded(random_batch())
    torch.testing.assert_close(
        gathered(batch).states[batch.mask], dense(batch).states[batch.mask], atol=1e-5, rtol=1e-5
    )
