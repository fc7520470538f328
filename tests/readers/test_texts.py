from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from layoutray.readers.texts import COLUMNS, LINES, typeset_pages

LONG = "x" * (COLUMNS + 5)


@given(st.text("ab- \n\t\xa0é", max_size=6000))
def test_every_word_stands_once_in_order_and_apart_from_the_others(text: str) -> None:
    pages = typeset_pages(text, "id")
    assert [word.text for page in pages for word in page.words] == text.split()
    assert [page.number for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        places = [(word.line, word.box.x0, word.box.x1) for word in page.words]
        assert places == sorted(places)
        assert all(one != other or end < start for (one, _, end), (other, start, _) in pairwise(places))
        assert {word.line for word in page.words} == set(range(page.words[-1].line + 1)) <= set(range(LINES))


def test_words_stand_where_a_typewriter_puts_them() -> None:
    (page,) = typeset_pages(f"Ab cde\n\n{LONG} f", "id", "a.txt", "train")
    assert [(word.text[:3], word.line, word.block) for word in page.words] == [
        ("Ab", 0, 0),
        ("cde", 0, 0),
        ("xxx", 1, 1),
        ("f", 2, 1),
    ]
    assert [(word.box.x0 * COLUMNS, word.box.x1 * COLUMNS) for word in page.words] == [
        (0, 2),
        (3, 6),
        (0, COLUMNS),
        (0, 1),
    ]
    assert (page.words[1].box.y0, page.words[1].box.y1) == (0, 1 / LINES)
    assert (page.width, page.height, page.image, page.split) == (640, 800, "", "train")
    assert "50 lines of 80 characters" in page.provenance.reason


def test_pages_are_full_before_the_next_begins() -> None:
    pages = typeset_pages("word\n" * (LINES + 1), "id")
    assert [len(page.words) for page in pages] == [LINES, 1]
    assert (pages[1].words[0].line, pages[1].words[0].block) == (0, 0)
