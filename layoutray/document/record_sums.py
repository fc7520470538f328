"""Do the records of a document add up: each one within itself, and all of them to a sum that the document states?

docs/fields.md explains when they do. Sums that are carried to the next page are no records: at the end or the start of
a page, their amount is the sum of all records before, and they have neither a count nor a unit price.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations, product

from layoutray.document.answers import Record, RecordSum
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.document.page import Page
from layoutray.document.record_type import RecordType
from layoutray.document.value_part import value_part, value_parts

_AMOUNT = FieldType(type="amount")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+[.,]\d\d(?!\d)")
"""An amount whose groups of digits are words of their own."""
_COUNT = re.compile(r"\d+(?:[.,]\d+)?")
_HALF_CENT = Decimal("0.005")
_MOST_AMOUNTS = 16
"""Amounts below the records that are looked at. Their combinations bound the work."""


def checked(records: Sequence[Record], kind: RecordType) -> list[Record]:
    """The records of a document, which now say whether they add up, without sums that are carried over a page break."""
    kept: list[Record] = []
    net = whole = Decimal(0)
    last = {before.page_number: before for before in records}
    for number, record in enumerate(records):
        amount = _amount(record, kind.amount)
        at_break = (number > 0 and records[number - 1].page_number != record.page_number) or (
            last[record.page_number] is record and number + 1 < len(records)
        )
        bare = not {kind.count, kind.unit_price} & {entity.type for entity in record.fields}
        if amount is not None and at_break and bare and len(kept) > 1 and amount in (net, whole):
            continue
        kept.append(replace(record, adds_up=_adds_up(record, kind)))
        net += _net(record, kind)
        whole += amount or 0
    return kept


def record_sum(records: Sequence[Record], kind: RecordType, pages: Sequence[Page]) -> RecordSum | None:
    """The sum of the records (at least one) of one name, and whether `pages`, those of the document, state it.

    None if an amount is missing in most records.
    """
    amounts = [_amount(record, kind.amount) for record in records]
    if amounts.count(None) > len(records) / 2:
        return None
    net = sum((_net(record, kind) for record in records), Decimal(0))
    whole = sum((amount or Decimal(0) for amount in amounts), Decimal(0))
    stated = list(_amounts_below(records, pages))[:_MOST_AMOUNTS]
    adds_up = any(_is_stated(total, stated) for total in {net, whole}) if stated else None
    return RecordSum(name=records[0].name, sum=f"{net:.2f}", adds_up=adds_up)


def _is_stated(total: Decimal, amounts: Sequence[Decimal]) -> bool:
    """Whether one of `amounts` is `total` with up to two of the others added or taken off."""
    return any(
        amount == total + sum(sign * one for sign, one in zip(signs, chosen, strict=True))
        for amount in amounts
        for count in range(3)
        for chosen in combinations(set(amounts) - {amount, total}, count)
        for signs in product((1, -1), repeat=count)
    )


def _amounts_below(records: Sequence[Record], pages: Sequence[Page]) -> Iterator[Decimal]:
    """The amounts of the pages below the last record, line by line, without signs and zeros."""
    regions = [region for record in records for entity in record.fields for region in entity.bounding_regions]
    last = max(region.page_number for region in regions)
    bottom = max(max(region.polygon[1::2]) for region in regions if region.page_number == last)
    for page in pages:
        lines: dict[int, list[tuple[float, str]]] = {}
        for word in page.words if page.number >= last else ():
            middle = (word.box.y0 + word.box.y1) / 2 * page.height
            if page.number > last or middle > bottom:
                lines.setdefault(word.line, []).append((middle, word.text))
        for words in sorted(lines.values()):
            text = " ".join(word for _, word in words)
            forms = [match[0] for match in _GROUPED.finditer(text)] + [
                part.form for _, word in words for part in value_parts(word, _AMOUNT)
            ]
            for form in forms:
                if amount := abs(Decimal(normal_form(form, _AMOUNT) or 0)):
                    yield amount


def is_product(amount: Decimal, count: Decimal, unit_price: Decimal, discount: Decimal | None) -> bool:
    """Whether an amount is the count times the unit price, with or without the discount."""
    whole = count * unit_price
    # A unit price may be rounded to cents.
    return any(abs(amount - one) <= max(count - 1, 0) * _HALF_CENT for one in (whole, whole - abs(discount or 0)))


def amount_of(contents: Iterable[str]) -> Decimal | None:
    """The amount that texts state together; None if they state none, or several."""
    forms = {part.form for one in contents if (part := value_part(one, _AMOUNT))}
    return Decimal(forms.pop()) if len(forms) == 1 else None


def count_of(contents: Iterable[str]) -> Decimal | None:
    """The number in a single text, such as `2x`; None if there is none."""
    found = [match[0] for one in contents if (match := _COUNT.search(one))]
    return Decimal(found[0].replace(",", ".")) if len(found) == 1 else None


def _adds_up(record: Record, kind: RecordType) -> bool | None:
    """Whether the amount of a record is its count times its unit price; None if it does not state all three."""
    amount, unit_price = _amount(record, kind.amount), _amount(record, kind.unit_price)
    count = count_of(_contents(record, kind.count))
    if amount is None or unit_price is None or count is None:
        return None
    return is_product(amount, count, unit_price, _amount(record, kind.discount))


def _net(record: Record, kind: RecordType) -> Decimal:
    """The amount of a record after its discount; 0 without an amount."""
    amount, discount = _amount(record, kind.amount), abs(_amount(record, kind.discount) or Decimal(0))
    return (amount or Decimal(0)) - discount


def _amount(record: Record, kind: str) -> Decimal | None:
    return amount_of(_contents(record, kind))


def _contents(record: Record, kind: str) -> list[str]:
    return [entity.content for entity in record.fields if entity.type == kind] if kind else []
