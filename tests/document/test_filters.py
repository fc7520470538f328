"""Pages that are not worth learning from are refused, each by the filter that says why."""

from pathlib import Path

import pytest

from layoutray.document import Box, Page, Word
from layoutray.document.filters import Filters, confidence, language, plain, wordlike
from layoutray.errors import InputError
from layoutray.readers import load
from tests.store.pages import page, word

ENGLISH = (
    "The parties agree that this letter shall be governed by the laws of the State of New York and by no other law"
)
GERMAN = (
    "Die Parteien vereinbaren, dass dieses Schreiben dem Recht des Landes Berlin und keinem anderen Recht unterliegt"
)


def of(text: str, seen: float | None = None) -> Page:
    return page("d", 1, *(word(one, confidence=seen) for one in text.split()))


def lines(*rows: tuple[float, float]) -> Page:
    """A line of two words from left to right for each pair of sides."""
    words = [
        Word(text="w", box=Box(left, 0.1 * at, right, 0.1 * at + 0.05), line=at)
        for at, (start, end) in enumerate(rows)
        for left, right in ((start, start), (end, end))
    ]
    return page("d", 1, *words)


def test_without_a_filter_every_page_passes() -> None:
    assert [Filters().failed_filter(one) for one in (page(), of(ENGLISH), of("1 2 3", 0.0))] == ["", "", ""]


@pytest.mark.parametrize(
    ("filters", "one", "refusal"),
    [
        (Filters(min_words=3), of("a b"), "min_words"),
        (Filters(min_words=2, max_words=2), of("a b"), ""),
        (Filters(max_words=2), of("a b c"), "max_words"),
        (Filters(min_confidence=0.5), of("a b", 0.4), "min_confidence"),
        (Filters(min_confidence=0.5), of("a b", 0.0), "min_confidence"),
        (Filters(min_confidence=0.5), of("a b"), ""),
        (Filters(min_wordlike=0.5), of("12 3.4 word"), "min_wordlike"),
        (Filters(languages=("en", "fr")), of(GERMAN), "languages"),
        (Filters(languages=("de",)), of(GERMAN), ""),
        (Filters(max_plain=0.5), lines((0.1, 0.9), (0.1, 0.88), (0.1, 0.9)), "max_plain"),
        (Filters(max_plain=0.5), lines((0.1, 0.9), (0.1, 0.4), (0.6, 0.9)), ""),
        (Filters(min_words=1, min_wordlike=0.1, max_plain=0.5), page(), "min_words"),
    ],
)
def test_a_page_is_refused_by_the_first_filter_that_it_does_not_pass(filters: Filters, one: Page, refusal: str) -> None:
    assert filters.failed_filter(one) == refusal


def test_what_is_measured() -> None:
    assert wordlike(of("“Word, it's co-op (AT&T) U.S. a 12 3rd ~ -- x_y")) == pytest.approx(5 / 11)
    assert plain(lines((0.1, 0.9), (0.1, 0.5))) == 0.5
    assert (confidence(page()), wordlike(page()), plain(page())) == (None, 0.0, 0.0)
    assert confidence(page("d", 1, word("a", confidence=0.5), word("b"))) == 0.5
    assert [language(of(text)) for text in (ENGLISH, GERMAN)] == ["en", "de"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"languages": ("english",)}, "'english'; give ISO 639-1 codes"),
        ({"min_words": 9, "max_words": 5}, "min_words is 9 and max_words is 5"),
        ({"min_words": -1}, "must be at least 0"),
        ({"max_plain": 1.5}, "max_plain is 1.5; it must be from 0 to 1"),
    ],
)
def test_filters_that_make_no_sense_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Filters(**wrong)  # pyright: ignore[reportArgumentType]


def test_real_forms_in_capitals_are_english(data_root: Path) -> None:
    reader = load("funsd")
    forms = [reader.read(item).pages[0] for item in list(reader.discover(str(data_root / "funsd")))[::6]]
    assert {language(form) for form in forms} == {"en"}
