"""Windows hold every piece of every word once, in order, each with its word's box."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutray.batching.windows import cut, document_window, first_pieces, quantise, windows, within_window
from layoutray.document.word_graph import no_neighbours, word_neighbours
from layoutray.tensors import BOX_GRID
from tests.jobs import page, vocabulary

VOCABULARY = vocabulary()
WORDS = st.lists(st.text("abcdefot0123.% ", min_size=0, max_size=12), max_size=40)


@settings(deadline=None)
@given(WORDS, st.integers(3, 20))
def test_nothing_is_lost_doubled_or_moved(words: list[str], max_length: int) -> None:
    boxes = np.arange(4 * len(words), dtype=np.int32).reshape(-1, 4)
    cuts = cut(words, boxes, VOCABULARY, max_length)
    pieces = [(piece, word) for word, ids in enumerate(VOCABULARY.words_to_ids(words)) for piece in ids]
    inner = [
        (int(piece), int(word))
        for one in cuts
        for piece, word in zip(one.input_ids[1:-1], one.word_index[1:-1], strict=True)
    ]
    assert inner == pieces
    for one in cuts:
        assert len(one.input_ids) == len(one.boxes) == len(one.word_index) <= max_length
        assert (one.input_ids[0], one.input_ids[-1]) == (VOCABULARY.start_id, VOCABULARY.end_id)
        assert (one.word_index[0], one.word_index[-1]) == (-1, -1)
        assert not one.boxes[[0, -1]].any()
        assert (one.boxes[1:-1] == boxes[one.word_index[1:-1]]).all()


@given(WORDS, st.integers(3, 20), st.integers(0, 100))
def test_a_window_has_the_graph_of_its_own_words(words: list[str], max_length: int, seed: int) -> None:
    boxes = np.sort(np.random.default_rng(seed).integers(0, 1001, (len(words), 2, 2)), axis=1).reshape(-1, 4)
    for one in cut(words, boxes, VOCABULARY, max_length):
        inside = sorted(set(one.word_index.tolist()) - {-1})
        assert one.neighbours.tolist() == word_neighbours(boxes[inside]).tolist()
        numbers = within_window(one.word_index)
        assert [inside[number] if number >= 0 else -1 for number in numbers] == one.word_index.tolist()


def test_a_cut_word_is_in_both_graphs() -> None:
    boxes = np.array([[0, 0, 10, 10], [20, 0, 30, 10], [40, 0, 50, 10]], np.int32)
    first, second = cut(["0", "5.00", "4"], boxes, VOCABULARY, 5)
    assert (first.word_index.tolist(), second.word_index.tolist()) == ([-1, 0, 1, 1, -1], [-1, 1, 2, -1])
    assert first.neighbours[:, 0].tolist() == second.neighbours[:, 0].tolist() == [1, 0]


@settings(deadline=None)
@given(WORDS, st.integers(3, 20))
def test_all_windows_but_the_last_are_full(words: list[str], max_length: int) -> None:
    lengths = [len(one.input_ids) for one in cut(words, np.zeros((len(words), 4), np.int32), VOCABULARY, max_length)]
    assert all(length == max_length for length in lengths[:-1])
    assert not lengths or lengths[-1] > 2


def test_a_page_gives_its_words_boxes_in_thousandths() -> None:
    made = page(1)
    one = windows(made, VOCABULARY, 512)[0]
    box = made.words[0].box
    assert one.boxes[1].tolist() == [round(1000 * side) for side in (box.x0, box.y0, box.x1, box.y1)]


@given(st.lists(st.integers(0, 30), max_size=4), st.integers(3, 150))
def test_a_document_is_its_pages_one_after_the_other_as_far_as_they_fit(numbers: list[int], max_length: int) -> None:
    pages = [page(number) if number % 5 else replace(page(number), words=()) for number in numbers]
    alone = [one for made in pages for one in windows(made, VOCABULARY, 10_000)]
    window, length = document_window(pages, VOCABULARY, max_length)
    if not alone:
        assert (window, length) == (None, 0)
        return
    assert window is not None
    inner = slice(1, min(length, max_length) - 1)
    pieces, boxes = (np.concatenate([getattr(one, name)[1:-1] for one in alone]) for name in ("input_ids", "boxes"))
    assert (len(pieces) + 2, len(window.input_ids)) == (length, min(length, max_length))
    assert (window.input_ids[inner].tolist(), window.boxes[inner].tolist()) == (
        pieces[: max_length - 2].tolist(),
        boxes[: max_length - 2].tolist(),
    )
    starts = np.cumsum([0, *(len(one.neighbours) for one in alone)])
    words = np.concatenate([one.word_index[1:-1] + start for one, start in zip(alone, starts, strict=False)])
    assert window.word_index.tolist() == [-1, *words[: max_length - 2], -1]
    if length <= max_length:
        graphs = [
            np.where(one.neighbours < 0, -1, one.neighbours + start) for one, start in zip(alone, starts, strict=False)
        ]
        assert window.neighbours.tolist() == np.concatenate(graphs).tolist()
    assert len(window.neighbours) == window.word_index.max() + 1 > window.neighbours.max()


def test_without_a_graph_each_word_has_no_neighbours() -> None:
    boxes = np.array([[100 * number, 0, 100 * number + 50, 10] for number in range(4)], np.int32)
    linked, alone = (cut(list("abcd"), boxes, VOCABULARY, 10, find) for find in (word_neighbours, no_neighbours))
    assert [one.neighbours.shape for one in linked] == [one.neighbours.shape for one in alone]
    assert max(one.neighbours.max() for one in linked) >= 0
    assert {number for one in alone for number in one.neighbours.flatten().tolist()} == {-1}


def test_a_page_without_words_gives_no_window() -> None:
    assert cut([], np.zeros((0, 4), np.int32), VOCABULARY, 10) == []


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 4), min_size=1))
def test_quantised_boxes_keep_their_order_and_stay_on_the_grid(boxes: list[tuple[float, ...]]) -> None:
    ordered = np.array([[min(a, c), min(b, d), max(a, c), max(b, d)] for a, b, c, d in boxes])
    grid = quantise(ordered)
    assert ((grid >= 0) & (grid <= BOX_GRID)).all()
    assert (grid[:, :2] <= grid[:, 2:]).all()
    assert np.abs(grid - ordered * BOX_GRID).max() <= 0.5 + 1e-9


@pytest.mark.parametrize(
    ("word_index", "expected"),
    [([-1, 0, 0, 1, 2, 2, 2, -1], [1, 3, 4]), ([-1, 5, 5, 6, -1], [1, 3]), ([-1, -1], [])],
)
def test_first_pieces_are_where_a_word_starts_in_its_window(word_index: list[int], expected: list[int]) -> None:
    assert np.flatnonzero(first_pieces(np.array(word_index, np.int32))).tolist() == expected
