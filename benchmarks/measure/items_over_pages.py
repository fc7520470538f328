"""What a model says of the line items of drawn invoices, and of the same items with one wrong amount."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from random import Random

from layoutray.document import Page
from layoutray.document.answers import Entity, Record
from layoutray.inference.extractor import Extractor
from layoutray.tasks.record_columns import with_columns
from layoutray.tasks.records import find_records, record_sums, true_records

_Contents = list[list[tuple[str, str]]]
"""Type and content of each field of each record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredInvoice:
    """The items of an invoice as annotated and as answered, and what the answer says of them.

    Attributes:
        right: whether all items are.
        adds_up: whether they are said to add up: their sum is stated, and no row is said not to.
        wrong_noticed: whether the answer says so if a digit of one amount is changed.
    """

    doc_id: str
    pages: int
    expected: _Contents
    answered: _Contents
    right: bool
    adds_up: bool
    wrong_noticed: bool


def measured_invoices(extractor: Extractor, pages: Iterable[Page], seed: int) -> Iterator[MeasuredInvoice]:
    """Measure each document. Only the entities of records are read of the annotation.

    Args:
        seed: of the digits that are changed.
    """
    task, schema = extractor.tagging.task, extractor.records
    ordered = sorted(pages, key=lambda page: (page.doc_id, page.number))
    for doc_id, group in groupby(ordered, key=lambda page: page.doc_id):
        of_document = list(group)
        truth = [
            task.entities_from_tags(page, [word.tag for word in page.words], [1.0] * len(page.words))
            for page in of_document
        ]
        read = extractor.extract(of_document)
        found = with_columns(of_document, read, schema)
        answered = find_records(of_document, found, schema)
        expected = _contents(true_records(of_document, truth, schema))
        wrong = _with_a_wrong_amount(read, {kind.amount for kind in schema.values()}, Random(f"{seed} {doc_id}"))
        yield MeasuredInvoice(
            doc_id=doc_id,
            pages=len(of_document),
            expected=expected,
            answered=_contents(answered),
            right=expected == _contents(answered),
            adds_up=_verdict(of_document, answered, extractor) is True,
            wrong_noticed=_verdict(
                of_document, find_records(of_document, with_columns(of_document, wrong, schema), schema), extractor
            )
            is False,
        )


def _verdict(pages: Sequence[Page], records: Sequence[Record], extractor: Extractor) -> bool | None:
    """Whether items are said to add up; None if nothing is said."""
    said = [one.adds_up for one in (*record_sums(pages, records, extractor.records), *records)]
    return False if False in said else True if True in said[:1] else None


def _contents(records: Iterable[Record]) -> _Contents:
    return [[(entity.type, entity.content) for entity in record.fields] for record in records]


def _with_a_wrong_amount(found: Sequence[Sequence[Entity]], amounts: set[str], random: Random) -> list[list[Entity]]:
    """The entities of all pages, of which one amount has another digit."""
    changed = [list(on_page) for on_page in found]
    places = [
        (number, at)
        for number, on_page in enumerate(found)
        for at, entity in enumerate(on_page)
        if entity.type in amounts and any(map(str.isdigit, entity.content))
    ]
    if places:
        number, at = random.choice(places)
        text = changed[number][at].content
        digit = random.choice([place for place, letter in enumerate(text) if letter.isdigit()])
        other = random.choice([one for one in "0123456789" if one != text[digit]])
        changed[number][at] = replace(changed[number][at], content=text[:digit] + other + text[digit + 1 :])
    return changed
