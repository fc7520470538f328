"""Batches: padded on the right, and never with a box that an embedding table does not have."""

from dataclasses import replace

import numpy as np
import pytest

from layoutray.batching.collate import IGNORED, collate
from layoutray.batching.examples import Example
from layoutray.document.word_graph import MAX_NEIGHBOURS
from layoutray.errors import SchemaError


def example(length: int, *, labels: bool = True, box: tuple[int, ...] = (1, 2, 3, 4)) -> Example:
    """Words of one token without special ones, each with the next as its only neighbour."""
    words = np.arange(length, dtype=np.int32)
    neighbours = np.full((length, MAX_NEIGHBOURS), -1, np.int32)
    neighbours[:-1, 0] = words[1:]
    boxes = np.tile(np.array(box, np.int32), (length, 1))
    return Example(
        doc_id="d",
        page=1,
        window=0,
        input_ids=words + 10,
        boxes=boxes,
        word_index=words,
        neighbours=neighbours,
        page_size=(600, 800),
        labels=words if labels else None,
    )


def test_short_windows_are_padded_on_the_right() -> None:
    batch = collate([example(2), example(4)], pad_id=7)
    assert batch.input_ids.tolist() == [[10, 11, 7, 7], [10, 11, 12, 13]]
    assert batch.mask.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.boxes[0].tolist() == [[1, 2, 3, 4]] * 2 + [[0] * 4] * 2
    assert batch.labels is not None
    assert batch.labels.tolist() == [[0, 1, IGNORED, IGNORED], [0, 1, 2, 3]]


def test_words_are_numbered_within_the_window_and_graphs_are_padded() -> None:
    cut = replace(example(5), word_index=np.array([-1, 7, 7, 9, -1], np.int32), neighbours=example(2).neighbours)
    batch = collate([cut, example(3)], pad_id=0)
    assert batch.word_index is not None is not batch.neighbours
    assert batch.word_index.tolist() == [[-1, 0, 0, 1, -1], [0, 1, 2, -1, -1]]
    assert batch.neighbours[..., 0].tolist() == [[1, -1, -1], [1, 2, -1]]
    assert (batch.neighbours[..., 1:] == -1).all()


@pytest.mark.parametrize(("neighbour", "words"), [(3, 3), (-2, 3), (1, 2), (1, 4)])
def test_a_graph_of_other_words_is_refused(neighbour: int, words: int) -> None:
    graph = np.full((words, MAX_NEIGHBOURS), neighbour, np.int32)
    with pytest.raises(SchemaError, match=rf"example 1 of the batch has 3 words and {words} lists of neighbours"):
        collate([example(4), replace(example(3), neighbours=graph)], pad_id=0)


def test_pages_keep_their_sizes_and_one_without_area_is_refused() -> None:
    wide = replace(example(3), page_size=(900, 300))
    sizes = collate([example(2), wide], pad_id=0).page_sizes
    assert sizes is not None
    assert sizes.tolist() == [[600, 800], [900, 300]]
    with pytest.raises(SchemaError, match="the page of example 1 of the batch is 900 x 0 pixels"):
        collate([example(2), replace(wide, page_size=(900, 0))], pad_id=0)


def test_no_labels_stay_none() -> None:
    assert collate([example(2, labels=False)], pad_id=0).labels is None


@pytest.mark.parametrize("box", [(5, 0, 4, 9), (0, 5, 9, 4), (-1, 0, 1, 1), (0, 0, 1001, 1), (0, 0, 1, 1001)])
def test_a_bad_box_is_refused_by_its_place(box: tuple[int, ...]) -> None:
    with pytest.raises(
        SchemaError, match=rf"\[{', '.join(map(str, box))}\] of token 0 in example 1 of the batch must satisfy"
    ):
        collate([example(3), example(3, box=box)], pad_id=0)


def test_the_corners_of_the_grid_and_empty_boxes_pass() -> None:
    assert (
        collate([example(1, box=(0, 0, 1000, 1000)), example(1, box=(1000, 1000, 1000, 1000))], pad_id=0).boxes.max()
        == 1000
    )
