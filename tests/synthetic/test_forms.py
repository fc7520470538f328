"""Generated forms: questions, answers and headers whose boxes lie on the page and do not cover each other."""

from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from random import Random

import pytest

from layoutray.document.tags import spans
from layoutray.readers import load
from layoutray.synthetic.forms import form
from layoutray.synthetic.render import render_page, render_set
from tests.readers.native import items, tags

READER = load("synthetic")


@pytest.fixture(scope="module")
def pages() -> list[list[dict]]:
    return [render_page(Random(f"3/{number}"), form)[1]["words"] for number in range(60)]


def kinds(words: list[dict]) -> Counter[str]:
    return Counter(kind for kind, _, _ in spans([word["tag"] for word in words]))


def test_pages_have_questions_answers_headers_and_other_words(pages: list[list[dict]]) -> None:
    found = [kinds(words) for words in pages]
    assert {kind for page in found for kind in page} == {"question", "answer", "header"}
    assert all(page["header"] for page in found)
    assert all(page["question"] for page in found)
    assert sum(page["answer"] > 0 for page in found) > 50
    assert sum(any(word["tag"] == "O" for word in words) for words in pages) > 40


def test_words_of_a_page_do_not_cover_each_other(pages: list[list[dict]]) -> None:
    covered = [sum(_covers(*pair) for pair in combinations(words, 2)) for words in pages]
    assert sum(covered) < 0.002 * sum(map(len, pages))


def _covers(one: dict, other: dict) -> bool:
    """Whether two words share more than a fifth of the smaller one's box."""
    (a, b, c, d), (e, f, g, h) = one["box"], other["box"]
    shared = max(min(c, g) - max(a, e), 0) * max(min(d, h) - max(b, f), 0)
    return shared > 0.2 * min((c - a) * (d - b), (g - e) * (h - f))


def test_entities_keep_their_words_together_in_any_order(pages: list[list[dict]]) -> None:
    falls = [sum(a["line"] > b["line"] for a, b in pairwise(words)) for words in pages]
    assert 15 < sum(count == 0 for count in falls) < 45, "about half of the pages are in the order of drawing"
    for words in pages:
        for _, start, end in spans([word["tag"] for word in words]):
            lines = [word["line"] for word in words[start:end]]
            assert lines == sorted(lines)


def test_the_reader_gives_entities_and_no_fields(tmp_path: Path) -> None:
    render_set(tmp_path, 5, 4, form)
    for item in items(READER, tmp_path).values():
        truth = READER.read(item)
        assert truth.document.fields == ()
        assert {kind for kind, _, _ in spans(tags(truth))} <= {"question", "answer", "header"}
