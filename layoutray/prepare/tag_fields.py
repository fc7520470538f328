"""Tag the words of a document that state its expected values. The values come without positions.

Dates, amounts and terms are found by their normal form. Texts, names and addresses are found by their letters and
digits, ignoring case, blanks and punctuation; if that finds nothing, by the most similar words, which tolerates OCR
errors. Every occurrence of a value is tagged; that of a record (`Field.row`) once, see `record_places`, with the
record's number as `group`. If two values share a word, the one with more words is tagged.

The value of a mark, `on` or `off`, says nothing of its place. It is the mark that the page's own tag says, as those of
generated pages, else the one that docs/fields.md describes. Values of signatures are not searched: signatures are found
without a training.

Words that a person has chosen for a field on the review page keep its tag, also where OCR has misread them. Words that
could state a value which was not found, or which contradicts another one, have the tag `?` instead of `O`.

On a page of which a person has answered some values only, the other words have unknown tags, and keep them. They are
known not to be of a field that may have one value in a document, if this value was answered.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from rapidfuzz import fuzz

from layoutray.document import REVIEWED, Field, Page, Word
from layoutray.document.field_type import FieldType
from layoutray.document.mark import Marks, has_part
from layoutray.document.normal_form import MONTHS, NUMBERS, contradictory, normal_form
from layoutray.document.page import OFF, ON
from layoutray.document.tags import OUTSIDE, UNKNOWN, is_unknown, kinds_ruled_out, to_iob2, unknown_but_not
from layoutray.document.tags import spans as entities_of
from layoutray.document.value_part import value_part
from layoutray.prepare.record_places import Span, record_places

_MIN_SIMILARITY = 80.0
"""Percent of letters and digits that words must share with a value."""
_MIN_LETTERS = 6
"""Shorter values are not found by similarity, because they are similar to too many words."""
_LETTERS_OF_PART = 3
"""Shorter words of a value that was not found stand anywhere."""

_FormsOf = Callable[[str, int, FieldType], Iterator[str | None]]
"""Normal forms of a text, from where its first word's value can begin."""

_ATOM = re.compile(r"[^\W_]+|&")


@dataclass(frozen=True, slots=True)
class Tagged:
    """Pages with one IOB2 tag per word and the groups of records, and the expected values that were not tagged.

    Attributes:
        missing: values that occur nowhere: OCR has misread them, or whoever stated them was wrong.
        contradictory: values of a field that has several, although it may have one.
    """

    pages: tuple[Page, ...]
    missing: tuple[Field, ...]
    contradictory: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class _CandidateSpans:
    """Which spans of words may be a value.

    Attributes:
        max_words: largest number of words.
        first: pattern in the first word.
        last: pattern in the last word.
        longest_first: if several nested spans state the value, take the longest instead of the shortest.
    """

    max_words: int
    first: re.Pattern[str]
    last: re.Pattern[str]
    longest_first: bool = False


_DIGIT = re.compile(r"\d")
_PART_OF_DATE = re.compile(rf"\d|\b({'|'.join(MONTHS).replace(' ', '|')})\b", re.I)
_CANDIDATES = {
    "date": _CandidateSpans(6, _PART_OF_DATE, _PART_OF_DATE),
    "amount": _CandidateSpans(2, _DIGIT, _DIGIT),
    "term": _CandidateSpans(
        5, re.compile(rf"\d|\b({'|'.join(NUMBERS)})", re.I), re.compile("day|week|month|year", re.I), longest_first=True
    ),
}


def tag_fields(pages: Sequence[Page], fields: Sequence[Field], schema: Mapping[str, FieldType]) -> Tagged:
    """Tag all pages of a document with its expected values; those of fields that are not in `schema` are ignored."""
    chosen = [_chosen(page, schema) for page in pages]
    settled = {(field.name, field.row) for of_page in chosen for field in of_page.values()}
    learned = {name for name, kind in schema.items() if kind.type != "signature"}
    given = [field for field in dict.fromkeys(fields) if field.name in learned]
    unusable = contradictory([field for field in given if (field.name, None) not in settled], schema)
    wanted = [field for field in given if field not in unusable]
    found = {field: find_value(field, schema[field.name], pages) for field in wanted}
    searched = {field: spans for field, spans in found.items() if (field.name, field.row) not in settled}
    placed = record_places({field: spans for field, spans in searched.items() if field.row is not None}, pages)
    missing = tuple(
        field for field, spans in searched.items() if not any(spans) or (field.row is not None and field not in placed)
    )
    owners: list[dict[Span, Field]] = [dict(of_page) for of_page in chosen]
    for field, (number, span) in placed.items():
        owners[number].setdefault(span, field)
    for field, of_pages in found.items():
        if field.row is None:
            for owned, spans in zip(owners, of_pages, strict=True):
                owned |= {span: field for span in spans if span not in owned}
    complete = {one.name for one in wanted if one.row is None and one not in missing and not schema[one.name].many}
    tagged = (_tagged(*of_page, complete) for of_page in zip(pages, owners, chosen, strict=True))
    pages = tuple(_with_unknown(page, [*missing, *unusable], schema) for page in tagged)
    return Tagged(pages, missing, unusable)


def _chosen(page: Page, schema: Mapping[str, FieldType]) -> dict[Span, Field]:
    """The spans of words that a person has chosen for fields of `schema`, and those of tagged marks."""
    reviewed = page.provenance.words == REVIEWED
    return {
        (start, end): Field(name, " ".join(word.text for word in page.words[start:end]), page.words[start].group)
        for name, start, end in entities_of([word.tag for word in page.words])
        if name in schema and (reviewed or schema[name].type == "mark")
    }


def _tagged(page: Page, owners: Mapping[Span, Field], chosen: Mapping[Span, Field], complete: Collection[str]) -> Page:
    """The page with the tags of its spans; of spans that share words, those in `chosen` are preferred.

    Args:
        complete: the fields whose values are all known, so that no unknown word is of them.
    """
    order = sorted(owners, key=lambda span: (span not in chosen, owners[span].row is None, span[0] - span[1]))
    spans = _disjoint(order)
    tags = to_iob2([(owners[span].name, *span) for span in spans], len(page.words))
    groups = {word: owners[span].row for span in spans for word in range(*span)}
    words = (
        replace(word, tag=_still_unknown(word.tag, complete) if tag == OUTSIDE else tag, group=groups.get(number))
        for number, (word, tag) in enumerate(zip(page.words, tags, strict=True))
    )
    return replace(page, words=tuple(words))


def _still_unknown(tag: str | None, complete: Collection[str]) -> str:
    return unknown_but_not({*kinds_ruled_out(tag), *complete}) if tag and is_unknown(tag) else OUTSIDE


def _with_unknown(page: Page, fields: Sequence[Field], schema: Mapping[str, FieldType]) -> Page:
    """The page with the tag `?` for words outside of all entities that could state one of the values of `fields`."""

    def could_state(text: str, field: Field) -> bool:
        if schema[field.name].type == "mark":
            return text in (ON, OFF)
        pattern = _CANDIDATES.get(schema[field.name].type)
        if pattern:
            return bool(pattern.first.search(text) or pattern.last.search(text))
        parts = [part for part in field.value.casefold().split() if len(part) >= _LETTERS_OF_PART]
        return any(fuzz.ratio(text.casefold(), part) >= _MIN_SIMILARITY for part in parts)

    words = (
        replace(word, tag=UNKNOWN)
        if word.tag == OUTSIDE and any(could_state(word.text, field) for field in fields)
        else word
        for word in page.words
    )
    return replace(page, words=tuple(words))


def find_value(field: Field, kind: FieldType, pages: Sequence[Page]) -> list[list[Span]]:
    """Spans of a value on each page."""
    if kind.type == "mark" or kind.type in _CANDIDATES:
        form = normal_form(field.value, kind)
        if form is None:
            return [[] for _ in pages]
        if kind.type == "mark":
            wanted = kind.description or field.name, {"on": ON, "off": OFF}[form]
            marks = [Marks(page) for page in pages]
            found = [one.labelled(*wanted) or one.labelled(*wanted, has_part) for one in marks]
            return [[(mark[0], mark[0] + 1)] if mark else [] for mark in found]
        whole = [list(_spans_with_form(form, kind, page.words, _forms)) for page in pages]
        # Words that only contain the value, because OCR joined several, state it where no others do.
        return whole if any(whole) else [list(_spans_with_form(form, kind, page.words, _form_inside)) for page in pages]
    key = "".join(_atoms(field.value))
    texts = [_PageText(page.words) for page in pages]
    exact = [list(text.find(key)) if key else [] for text in texts]
    if any(exact) or len(key) < _MIN_LETTERS:
        return exact
    similar = [text.most_similar(key) for text in texts]
    best = max((similarity for similarity, _ in similar), default=0.0)
    return [[span] if similarity == best >= _MIN_SIMILARITY else [] for similarity, span in similar]


def _spans_with_form(form: str, field: FieldType, words: Sequence[Word], forms_of: _FormsOf) -> Iterator[Span]:
    """Spans with the normal form `form`, among those that `forms_of` gives, that share no word."""
    candidates = _CANDIDATES[field.type]
    firsts = [candidates.first.search(word.text) for word in words]
    lasts = [candidates.last.search(word.text) is not None for word in words]
    spans: list[Span] = []
    for start, first in enumerate(firsts):
        if not first:
            continue
        for end in range(start + 1, min(start + candidates.max_words, len(words)) + 1):
            if lasts[end - 1]:
                text = " ".join(word.text for word in words[start:end])
                if _may_state(form, field, text) and form in forms_of(text, first.start(), field):
                    spans.append((start, end))
    spans.sort(key=lambda span: span[1] - span[0], reverse=candidates.longest_first)
    return iter(_disjoint(spans))


def _forms(text: str, first: int, field: FieldType) -> Iterator[str | None]:
    """Normal forms that the text states. Text directly before a value, as in `Date:1/2/2021`, is not part of it.

    Args:
        first: where the first word's value can begin.
    """
    yield normal_form(text, field)
    yield normal_form(text[first:], field)


def _form_inside(text: str, first: int, field: FieldType) -> Iterator[str | None]:
    """The normal form of the value inside the text. Arguments as `_forms`."""
    part = value_part(text, field)
    yield part and part.form


def _may_state(form: str, field: FieldType, text: str) -> bool:
    """False when `text` cannot have the normal form `form`, because it lacks the digits of a date's year.

    The last two digits of the year, without a leading zero, are in every text that states the date. This test is fast;
    parsing a date is slow.
    """
    return field.type != "date" or str(int(form[2:4])) in unicodedata.normalize("NFKC", text)


class _PageText:
    """The letters and digits of a page's words, joined."""

    def __init__(self, words: Sequence[Word]) -> None:
        atoms = [(atom, index) for index, word in enumerate(words) for atom in _atoms(word.text)]
        self._text = "".join(atom for atom, _ in atoms)
        self._words = [index for _, index in atoms]
        self._letters = [len("".join(_atoms(word.text))) for word in words]
        self._bounds = [0, *accumulate(len(atom) for atom, _ in atoms)]
        self._number = {bound: number for number, bound in enumerate(self._bounds)}

    def find(self, key: str) -> Iterator[Span]:
        """Spans of `key`.

        A span begins and ends at the bounds of atoms, and `key` is at least half of its letters, so that a name inside
        a URL is not found.
        """
        start = self._text.find(key)
        while start >= 0:
            end = start + len(key)
            at_bounds = start in self._number and end in self._number
            if at_bounds:
                span = self._span(self._number[start], self._number[end])
                if 2 * len(key) >= sum(self._letters[slice(*span)]):
                    yield span
            start = self._text.find(key, end if at_bounds else start + 1)

    def most_similar(self, key: str) -> tuple[float, Span]:
        """Similarity in percent, and span, of the text that is most similar to `key`."""
        match = fuzz.partial_ratio_alignment(key, self._text, score_cutoff=_MIN_SIMILARITY)
        if match is None or match.dest_start == match.dest_end:
            return 0.0, (0, 0)
        first, last = self._nearest_bound(match.dest_start), self._nearest_bound(match.dest_end)
        if first == last:  # a part of one word
            return 0.0, (0, 0)
        return fuzz.ratio(key, self._text[self._bounds[first] : self._bounds[last]]), self._span(first, last)

    def _nearest_bound(self, position: int) -> int:
        return min(range(len(self._bounds)), key=lambda number: abs(self._bounds[number] - position))

    def _span(self, first: int, end: int) -> Span:
        return self._words[first], self._words[end - 1] + 1


def _atoms(text: str) -> list[str]:
    """Runs of letters and digits, in upper case. `&` is the word AND."""
    return ["AND" if atom == "&" else atom for atom in _ATOM.findall(unicodedata.normalize("NFKC", text).upper())]


def _disjoint(spans: Sequence[Span]) -> list[Span]:
    """Those of `spans`, in order of preference, that share no word with an earlier one."""
    taken: set[int] = set()
    kept: list[Span] = []
    for start, end in spans:
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            kept.append((start, end))
    return kept
