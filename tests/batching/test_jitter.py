"""Jittered boxes stay boxes of the same page."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from layoutray.batching.augmentation import jitter
from layoutray.batching.collate import collate
from layoutray.tensors import BOX_GRID, Batch
from tests.batching.test_collate import example


def boxes(*rows: list[int]) -> Batch:
    made = collate([example(len(rows))], 0)
    return Batch(input_ids=made.input_ids, boxes=torch.tensor([rows]), mask=made.mask)


@given(
    st.floats(0, 0.99),
    st.integers(0, 1000),
    st.lists(st.tuples(*[st.integers(0, BOX_GRID)] * 4), min_size=1, max_size=5),
)
def test_boxes_keep_their_order_and_stay_on_the_page(share: float, seed: int, corners: list[tuple[int, ...]]) -> None:
    ordered = [[min(a, c), min(b, d), max(a, c), max(b, d)] for a, b, c, d in corners]
    moved = jitter(boxes(*ordered), share, torch.Generator().manual_seed(seed)).boxes
    assert ((moved >= 0) & (moved <= BOX_GRID)).all()
    assert (moved[..., :2] <= moved[..., 2:]).all()


def test_a_window_moves_as_a_whole_and_not_too_far() -> None:
    batch = boxes([0, 0, 0, 0], [400, 400, 500, 500], [400, 500, 500, 600])
    shifts = set[tuple[int, ...]]()
    for seed in range(50):
        moved = jitter(batch, 0.02, torch.Generator().manual_seed(seed)).boxes[0]
        assert moved[0].tolist() == [0, 0, 0, 0], "special tokens stay nowhere"
        assert (moved - batch.boxes[0]).abs().max() <= 0.02 * BOX_GRID + 0.02 * 600 + 1
        assert moved[1, 0] == moved[2, 0]
        assert moved[1, 3] == moved[2, 1]
        shifts.add(tuple(moved[1].tolist()))
    assert len(shifts) > 25
