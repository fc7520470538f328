"""Packets: files that hold several documents, each on consecutive pages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from layoutray.document.page import Document, Field, Page
from layoutray.errors import InputError

PART = "part"
"""Name of the fields that say where a document of a packet is: `4-6 invoice`."""
_PART = re.compile(r"([1-9]\d{0,5})(?:(-)([1-9]\d{0,5})?)? (\S.*)", re.DOTALL)
_OPEN = 10**6
"""Last page of a document that goes on to the end of its file."""
_SEPARATOR = re.compile(
    r"\b(separator|separat(or|ion) (sheet|page)|patch[ -]?(code|sheet|t|[1-6]|i{1,3}|iv|vi?)|trennblatt|trennseite)\b",
    re.IGNORECASE,
)
_MOST_WORDS_OF_A_SEPARATOR = 12


@dataclass(frozen=True, slots=True)
class Part:
    """A document of a packet: its kind, for example `invoice`, and its first and last page, from 1."""

    kind: str
    first: int
    last: int


def part_field(kind: str, pages: str = "") -> Field:
    """The field that says that the pages `4` or `4-6`, or without any the whole file, are a document of this kind."""
    return Field(PART, f"{pages or '1-'} {kind}")


def part_of(value: str) -> Part | None:
    """The part that the value of such a field states; None if it states none."""
    if not (found := _PART.fullmatch(value)):
        return None
    first, dash, last, kind = found.groups()
    part = Part(kind, int(first), int(last or (_OPEN if dash else first)))
    return part if part.first <= part.last else None


def wrong_part(value: str, others: Iterable[str]) -> str:
    """What is wrong with the value of such a field, beside those of its packet before it; empty if nothing is."""
    if not (part := part_of(value)):
        return f"the pages and kind are {value!r:.80}; the pages must be a number such as 4, or two such as 4-6"
    for text in others:
        other = part_of(text)
        if other and other.first <= part.last and part.first <= other.last:
            return f"{value!r:.80} and {text!r:.80} have pages in common; a page is of one document"
    return ""


def parts_of(document: Document) -> list[Part]:
    """The documents that the fields of a packet state, in page order; none if nobody has said what it holds.

    Raises:
        InputError: for a value that states none, or pages of another one.
    """
    values = [field.value for field in document.fields if field.name == PART]
    for place, value in enumerate(values):
        if problem := wrong_part(value, values[:place]):
            raise InputError(f"value {place + 1} of {PART!r} of {document.source}: {problem}; correct the value")
    parts = (replace(part, last=min(part.last, document.num_pages)) for part in map(part_of, values) if part)
    return sorted(parts, key=lambda part: part.first)


def page_tag(parts: Sequence[Part], number: int) -> str | None:
    """The tag of a page in its document, as that of a word in an entity (BIOES); None for a page in no document.

    `B-invoice` begins a document, `I-invoice` and `E-invoice` go on with it and end it; `S-invoice` is all of it.
    """
    for part in parts:
        if part.first <= number <= part.last:
            begins, ends = number == part.first, number == part.last
            return f"{'S' if begins and ends else 'B' if begins else 'E' if ends else 'I'}-{part.kind}"
    return None


def is_separator(page: Page) -> bool:
    """Whether the page is a sheet that somebody has put between documents: its few words say so."""
    few = len(page.words) <= _MOST_WORDS_OF_A_SEPARATOR
    return few and bool(_SEPARATOR.search(" ".join(word.text for word in page.words)))
