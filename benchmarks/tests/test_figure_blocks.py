"""Blocks are what a reader would put a frame around."""

from dataclasses import replace

from benchmarks.figures.blocks import blocks, box_of, connected
from layoutray.document import Box, Page, Word
from tests.store.pages import page


def word(x0: float, y0: float, line: int, tag: str | None = None, block: int = 0) -> Word:
    return Word(text="text", box=Box(x0, y0, x0 + 0.2, y0 + 0.02), line=line, block=block, tag=tag)


def two_columns() -> Page:
    """A title over two columns of paragraphs, and lines far below."""
    title = [word(0.1, 0.05, 0, "title"), word(0.4, 0.05, 0, "title")]
    left = [word(0.1, 0.10, 1, "paragraph"), word(0.1, 0.13, 2, "paragraph")]
    right = [word(0.6, 0.10, 3, "paragraph"), word(0.6, 0.13, 4, "paragraph")]
    return page("d", 1, *title, *left, *right, word(0.1, 0.5, 5, "paragraph"))


def test_lines_of_a_label_that_stand_above_each_other_are_a_block() -> None:
    assert blocks(two_columns()) == [
        ("title", (0, 1)),
        ("paragraph", (2, 3)),
        ("paragraph", (4, 5)),
        ("paragraph", (6,)),
    ]


def test_what_a_later_line_joins_is_one_block() -> None:
    shown = page("d", 1, word(0.1, 0.1, 0), word(0.5, 0.1, 1), word(0.1, 0.13, 2), word(0.5, 0.13, 2))
    assert connected(shown, [0, 1]) == [(0,), (1,)]
    assert connected(shown, [0, 1, 2, 3]) == [(0, 1, 2, 3)]


def test_a_page_without_labels_has_its_own_blocks() -> None:
    shown = page("d", 1, word(0.1, 0.1, 0, block=0), word(0.1, 0.12, 1, block=1), word(0.1, 0.9, 2, block=1))
    assert blocks(shown) == [("", (0,)), ("", (1, 2))]


def test_entities_count_by_their_type_and_words_without_a_tag_have_no_label() -> None:
    shown = page("d", 1, word(0.1, 0.1, 0, "B-total"), word(0.4, 0.1, 0, "I-total"), word(0.7, 0.1, 0))
    assert blocks(shown) == [("total", (0, 1)), ("", (2,))]
    assert blocks(replace(shown, words=())) == []


def test_the_box_of_words_holds_them() -> None:
    assert box_of(two_columns(), [0, 3]) == Box(0.1, 0.05, 0.30000000000000004, 0.15)
