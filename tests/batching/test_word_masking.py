"""Masked words lose all of their tokens, and nothing else changes."""

import torch

from layoutray.batching.augmentation import mask_words
from layoutray.tensors import Batch

MASK = 99


def batch(windows: int) -> Batch:
    """Windows of a special token, 200 words of two tokens, and padding."""
    words = torch.arange(200).repeat_interleave(2)
    index = torch.cat([torch.tensor([-1]), words, torch.tensor([-1])]).repeat(windows, 1)
    ids = torch.arange(index.shape[1]).repeat(windows, 1) + 100
    return Batch(input_ids=ids, boxes=torch.zeros(*ids.shape, 4, dtype=torch.long), mask=index >= 0, word_index=index)


def masked(share: float, seed: int = 1) -> torch.Tensor:
    one = batch(20)
    changed = mask_words(one, share, MASK, torch.Generator().manual_seed(seed)).input_ids
    assert ((changed == one.input_ids) | (changed == MASK)).all()
    return changed == MASK


def test_all_tokens_of_a_word_are_masked_and_special_tokens_are_not() -> None:
    hidden = masked(0.3)
    assert torch.equal(hidden[:, 1:-1:2], hidden[:, 2:-1:2])
    assert not hidden[:, [0, -1]].any()


def test_about_the_share_of_words_is_masked_in_each_window_and_others_in_the_next() -> None:
    hidden = masked(0.3)[:, 1:-1:2].float()
    assert abs(hidden.mean().item() - 0.3) < 0.03
    assert hidden.mean(1).min() > 0.15
    assert len({tuple(row.tolist()) for row in hidden}) == 20


def test_other_seeds_mask_other_words_and_the_same_seed_the_same() -> None:
    assert torch.equal(masked(0.3), masked(0.3))
    assert not torch.equal(masked(0.3), masked(0.3, seed=2))
