"""Tag the words of a document that state its expected values, which come without places.

Dates, amounts and terms are found by their normal form. Texts, names and addresses are found by their letters and digits alone, in
upper case and whatever blanks and punctuation stand between; where that finds nothing, by the most similar words, so that errors of
recognition are no loss. Every place of a value is tagged. Of values that share a word the one with more words wins.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from rapidfuzz import fuzz

from layoutray.document import Field, Page, Word
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import MONTHS, NUMBERS, normal_form
from layoutray.document.tags import to_iob2

_LEAST_SIMILAR = 80.0
"""Percent of letters and digits that words share with a value that they are taken for."""
_LEAST_LETTERS = 6
"""Of a value that may be found by similarity; shorter ones are similar to too much."""

Place = tuple[int, int]
"""The first word of a value on its page, and the word after its last."""

_ATOM = re.compile(r"[^\W_]+|&")


@dataclass(frozen=True, slots=True)
class Tagged:
    """Pages with an IOB2 tag a word, and the expected values that no word states."""

    pages: tuple[Page, ...]
    missing: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class _Windows:
    """Words in a row that may be one value: how many at most, and what its first and last word contain.

    Attributes:
        longest_first: which of several that state the value, one within the other, is taken.
    """

    most: int
    first: re.Pattern[str]
    last: re.Pattern[str]
    longest_first: bool = False


_DIGIT = re.compile(r"\d")
_PART_OF_DATE = re.compile(rf"\d|\b({'|'.join(MONTHS).replace(' ', '|')})\b", re.I)
_WINDOWS = {
    "date": _Windows(6, _PART_OF_DATE, _PART_OF_DATE),
    "amount": _Windows(2, _DIGIT, _DIGIT),
    "term": _Windows(
        5, re.compile(rf"\d|\b({'|'.join(NUMBERS)})", re.I), re.compile("day|week|month|year", re.I), longest_first=True
    ),
}


def tag_fields(pages: Sequence[Page], fields: Sequence[Field], schema: Mapping[str, FieldType]) -> Tagged:
    """Tags of a document's words from its expected values.

    Args:
        pages: all pages of the document, in order.
        fields: its expected values; those that `schema` does not name are passed over.
        schema: the type of each wanted field, by its name.
    """
    wanted = [field for field in dict.fromkeys(fields) if field.name in schema]
    places: list[dict[Place, str]] = [{} for _ in pages]
    missing: list[Field] = []
    for field in wanted:
        found = _find(field.value, schema[field.name], [page.words for page in pages])
        if not any(found):
            missing.append(field)
        for known, new in zip(places, found, strict=True):
            known |= {place: field.name for place in new if place not in known}
    tagged = tuple(_tagged(page, known) for page, known in zip(pages, places, strict=True))
    return Tagged(tagged, tuple(missing))


def _tagged(page: Page, places: Mapping[Place, str]) -> Page:
    apart = _apart(sorted(places, key=lambda place: place[0] - place[1]))
    tags = to_iob2([(places[place], *place) for place in apart], len(page.words))
    return replace(page, words=tuple(replace(word, tag=tag) for word, tag in zip(page.words, tags, strict=True)))


def _find(value: str, field: FieldType, pages: Sequence[Sequence[Word]]) -> list[list[Place]]:
    """Where a value stands on each page."""
    if field.type in _WINDOWS:
        form = normal_form(value, field)
        return [list(_stating(form, field, words)) if form else [] for words in pages]
    key = "".join(_atoms(value))
    streams = [_Stream(words) for words in pages]
    exact = [list(stream.exactly(key)) if key else [] for stream in streams]
    if any(exact) or len(key) < _LEAST_LETTERS:
        return exact
    similar = [stream.most_similar(key) for stream in streams]
    best = max((likeness for likeness, _ in similar), default=0.0)
    return [[place] if likeness == best >= _LEAST_SIMILAR else [] for likeness, place in similar]


def _stating(form: str, field: FieldType, words: Sequence[Word]) -> Iterator[Place]:
    """Windows of words that have the normal form and share no word."""
    windows = _WINDOWS[field.type]
    firsts = [windows.first.search(word.text) for word in words]
    lasts = [windows.last.search(word.text) is not None for word in words]
    found: list[Place] = []
    for start, first in enumerate(firsts):
        for end in range(start + 1, min(start + windows.most, len(words)) + 1) if first else ():
            if first and lasts[end - 1]:
                # What is printed close before a value, as in `Date:1/2/2021`, is not part of it.
                text = " ".join(word.text for word in words[start:end])
                if _may_state(form, field, text) and form in (
                    normal_form(text, field),
                    normal_form(text[first.start() :], field),
                ):
                    found.append((start, end))
    found.sort(key=lambda place: place[1] - place[0], reverse=windows.longest_first)
    return iter(_apart(found))


def _may_state(form: str, field: FieldType, text: str) -> bool:
    """False when `text` is certain not to have the normal form `form`, because it lacks the digits of a date's year.

    The last two digits of the year, without a leading zero, are in every text that states the date. This test is fast,
    and parsing a date is slow.
    """
    return field.type != "date" or str(int(form[2:4])) in unicodedata.normalize("NFKC", text)


class _Stream:
    """The letters and digits of a page's words in a row."""

    def __init__(self, words: Sequence[Word]) -> None:
        atoms = [(atom, index) for index, word in enumerate(words) for atom in _atoms(word.text)]
        self._text = "".join(atom for atom, _ in atoms)
        self._words = [index for _, index in atoms]
        self._letters = [len("".join(_atoms(word.text))) for word in words]
        self._bounds = [0, *accumulate(len(atom) for atom, _ in atoms)]
        self._number = {bound: number for number, bound in enumerate(self._bounds)}

    def exactly(self, key: str) -> Iterator[Place]:
        """Every place of `key` that begins and ends where letters do on the page, and is at least half of its words (no part of a URL)."""
        at = self._text.find(key)
        while at >= 0:
            end = at + len(key)
            whole = at in self._number and end in self._number
            if whole:
                place = self._place(self._number[at], self._number[end])
                if 2 * len(key) >= sum(self._letters[slice(*place)]):
                    yield place
            at = self._text.find(key, end if whole else at + 1)

    def most_similar(self, key: str) -> tuple[float, Place]:
        """The place that is most similar to `key`, and how much, in percent."""
        found = fuzz.partial_ratio_alignment(key, self._text, score_cutoff=_LEAST_SIMILAR)
        if found is None or found.dest_start == found.dest_end:
            return 0.0, (0, 0)
        first, last = (
            min(range(len(self._bounds)), key=lambda n: abs(self._bounds[n] - at))
            for at in (found.dest_start, found.dest_end)
        )
        return fuzz.ratio(key, self._text[self._bounds[first] : self._bounds[last]]), self._place(
            first, max(last, first + 1)
        )

    def _place(self, first: int, end: int) -> Place:
        return self._words[first], self._words[end - 1] + 1


def _atoms(text: str) -> list[str]:
    """Runs of letters and digits, in upper case; `&` is the word AND."""
    return ["AND" if atom == "&" else atom for atom in _ATOM.findall(unicodedata.normalize("NFKC", text).upper())]


def _apart(places: Sequence[Place]) -> list[Place]:
    """Of places in order of preference those that share no word with one before."""
    taken: set[int] = set()
    kept: list[Place] = []
    for start, end in places:
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            kept.append((start, end))
    return kept
