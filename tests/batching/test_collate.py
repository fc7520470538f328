"""Batches: padded on the right, and never with a box that an embedding table does not have."""

import numpy as np
import pytest

from layoutray.batching.collate import IGNORED, collate
from layoutray.batching.examples import Example
from layoutray.errors import SchemaError


def example(length: int, *, labels: bool = True, box: tuple[int, ...] = (1, 2, 3, 4)) -> Example:
    words = np.arange(length, dtype=np.int32)
    return Example("d", 1, 0, words + 10, np.tile(np.array(box, np.int32), (length, 1)), words, words if labels else None)


def test_short_windows_are_padded_on_the_right() -> None:
    batch = collate([example(2), example(4)], pad_id=7)
    assert batch.input_ids.tolist() == [[10, 11, 7, 7], [10, 11, 12, 13]]
    assert batch.mask.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.boxes[0].tolist() == [[1, 2, 3, 4]] * 2 + [[0] * 4] * 2
    assert batch.labels is not None
    assert batch.labels.tolist() == [[0, 1, IGNORED, IGNORED], [0, 1, 2, 3]]


def test_no_labels_stay_none() -> None:
    assert collate([example(2, labels=False)], pad_id=0).labels is None


@pytest.mark.parametrize("box", [(5, 0, 4, 9), (0, 5, 9, 4), (-1, 0, 1, 1), (0, 0, 1001, 1), (0, 0, 1, 1001)])
def test_a_bad_box_is_refused_by_its_place(box: tuple[int, ...]) -> None:
    with pytest.raises(SchemaError, match=rf"\[{', '.join(map(str, box))}\] of token 0 in example 1 of the batch must satisfy"):
        collate([example(3), example(3, box=box)], pad_id=0)


def test_the_corners_of_the_grid_and_empty_boxes_pass() -> None:
    assert collate([example(1, box=(0, 0, 1000, 1000)), example(1, box=(1000, 1000, 1000, 1000))], pad_id=0).boxes.max() == 1000
