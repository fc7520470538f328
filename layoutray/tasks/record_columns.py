"""Columns of a table have one meaning in the whole document, also on pages that do not repeat the heading.

A model that reads each page for itself takes unit prices for amounts, or amounts in a second currency for either. In
rows with two or more amounts, these form columns by their right ends, as shares of the table's width, because scans
differ in scale and margin. Each column is a unit price, an amount, a discount, or none of them. Of all assignments the
one with the highest score is taken: the confidence of entities that have the type of their column, minus that of those
whose column is none, plus 2 for each row whose count times its unit price is its amount, minus 2 for each row that
contradicts it: without an amount, with two of a type, with a discount or a unit price above the amount, or with another
amount than count times unit price.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product

from layoutray.document import Page
from layoutray.document.answers import Entity
from layoutray.document.record_sums import amount_of, count_of, is_product
from layoutray.document.record_type import RecordType
from layoutray.document.rows import Placed, place, rows, slope_of_lines

_GAP = 0.02
"""Least distance of the right ends of two columns, as a share of the table's width."""
_MOST_COLUMNS, _MOST_ROWS = 5, 64
"""Columns, and rows that decide on their types; they bound the work. More columns are left as they are."""
_WEIGHT = 2.0

_Types = tuple[str, ...]
"""The type of each column; empty for one that is none of the record's."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Amounts of a row, their right ends as shares of the table's width, and the contents that state counts."""

    amounts: Sequence[Entity]
    right_ends: Sequence[float]
    counts: Sequence[str]


def with_columns(
    pages: Sequence[Page], entities: Sequence[Sequence[Entity]], schema: Mapping[str, RecordType]
) -> list[tuple[Entity, ...]]:
    """The entities of each page of a document, where amounts of records have the types of their columns.

    Amounts in columns that belong to no record are left out. Records without a field of amounts are left as they are.
    """
    found = [tuple(on_page) for on_page in entities]
    for kind in schema.values():
        types = [name for name in (kind.unit_price, kind.amount, kind.discount) if name]
        if kind.amount and len(types) > 1:
            of_pages = [list(_rows(page, on_page, kind, types)) for page, on_page in zip(pages, found, strict=True)]
            changed = _changed([row for of_page in of_pages for row in of_page], kind, types)
            found = [tuple(_retyped(on_page, changed)) for on_page in found]
    return found


def _rows(page: Page, entities: Sequence[Entity], kind: RecordType, types: Sequence[str]) -> Iterator[_Row]:
    own = [entity for entity in entities if entity.type in kind.fields and entity.words]
    if not own:
        return
    slope = slope_of_lines(page)
    ends = {id(entity): max(page.words[number].box.x1 for number in entity.words) for entity in own}
    placed: list[Placed[Entity]] = [place(entity, page, entity.words, slope) for entity in own]
    left, right = min(one.left for one in placed) / page.width, max(ends.values())
    for row in rows(placed):
        amounts = [one.item for one in row if one.item.type in types]
        if len(amounts) > 1:
            right_ends = [(ends[id(one)] - left) / max(right - left, 1e-6) for one in amounts]
            yield _Row(amounts, right_ends, [one.item.content for one in row if one.item.type == kind.count])


def _changed(found: Sequence[_Row], kind: RecordType, types: Sequence[str]) -> dict[int, str]:
    """The new types of entities by `id`; empty for those that are left out."""
    bounds = _bounds(end for row in found for end in row.right_ends)
    if not 1 < len(bounds) <= _MOST_COLUMNS:
        return {}
    cells = [_cells(row, bounds) for row in found]
    # The score of a row depends on its own columns alone.
    scores: dict[tuple[int, ...], dict[_Types, float]] = {}
    step = -(-len(found) // _MOST_ROWS)  # rows of all pages decide
    for row, of_row in zip(found[::step], cells[::step], strict=True):
        of_columns = scores.setdefault(tuple(of_row), defaultdict(float))
        stated = [(one, amount_of([one.content])) for one in of_row.values()]
        for chosen in product(("", *types), repeat=len(of_row)):
            of_columns[chosen] += _score(stated, chosen, count_of(row.counts), kind)

    def total(chosen: _Types) -> float:
        return sum(of_columns[tuple(chosen[column] for column in columns)] for columns, of_columns in scores.items())

    best = max(product(("", *types), repeat=len(bounds)), key=total)
    return {id(entity): best[column] for of_row in cells for column, entity in of_row.items()}


def _bounds(right_ends: Iterator[float]) -> list[float]:
    """The largest right end of each column, from the left."""
    bounds: list[float] = []
    for end in sorted(right_ends):
        if bounds and end - bounds[-1] < _GAP:
            bounds[-1] = end
        else:
            bounds.append(end)
    return bounds


def _cells(row: _Row, bounds: Sequence[float]) -> dict[int, Entity]:
    """The amount in each column, without columns in which the row has several."""
    of_column: dict[int, list[Entity]] = defaultdict(list)
    for entity, end in zip(row.amounts, row.right_ends, strict=True):
        of_column[next(number for number, bound in enumerate(bounds) if end <= bound)].append(entity)
    return {column: one for column, (one, *others) in of_column.items() if not others}


def _score(
    cells: Sequence[tuple[Entity, Decimal | None]], types: _Types, count: Decimal | None, kind: RecordType
) -> float:
    """How well the types fit the cells of a row, which state these amounts."""
    score = 0.0
    for (one, _), name in zip(cells, types, strict=True):
        score += one.confidence * ((one.type == name) - (not name))
    named = [name for name in types if name]
    if len(named) > len(set(named)):
        return score - _WEIGHT
    stated = {name: abs(amount) for (_, amount), name in zip(cells, types, strict=True) if amount is not None}
    amount, unit_price, discount = (stated.get(name) for name in (kind.amount, kind.unit_price, kind.discount))
    if amount is None:
        return score - _WEIGHT
    if (discount or 0) > amount or (unit_price or 0) > amount:
        score -= _WEIGHT
    if unit_price is not None and count is not None:
        score += _WEIGHT if is_product(amount, count, unit_price, discount) else -_WEIGHT
    return score


def _retyped(entities: Sequence[Entity], changed: Mapping[int, str]) -> Iterator[Entity]:
    for entity in entities:
        kind = changed.get(id(entity), entity.type)
        if kind:
            yield entity if kind == entity.type else replace(entity, type=kind)
