"""Group the entities of a page into records, for example the line items of a receipt, by where they stand.

Nothing is learned: the record type names the entities of a record, and the first of its fields is the key, which each
record has once. Rows of text are levelled by the median slope of the page's lines, because photographs are skewed.

1. Entities whose first lines are level are a row. A row with several keys has records side by side, and is divided.
2. A record begins at the row of its key. Some layouts print other fields above the key, such as the quantity. Types
   that stand above the first key, and not below the last one, are taken as such: a record also begins at their row.
3. All further rows belong to the record above.

If the page has no entity of the key's type, the next field of the record type that it has is the key.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from layoutray.answers import Entity, Record
from layoutray.document import Page
from layoutray.document.levelling import slope_of_lines
from layoutray.document.record_type import RecordType
from layoutray.errors import InputError

_SAME_ROW = 0.5
"""Largest distance of the middles of two entities in one row, as a share of the lower one's height."""


def find_records(page: Page, entities: Iterable[Entity], schema: Mapping[str, RecordType]) -> tuple[Record, ...]:
    """The records that the entities of a page form, from top to bottom, by the names of `schema`.

    Args:
        entities: found on this page. Entities of types that `schema` does not name, and without words, are left out.
    """
    by_type = _by_record_type(page, entities, schema)
    return tuple(
        _record(name, page.number, number, group, schema[name])
        for name, placed in by_type.items()
        for number, group in enumerate(_groups(placed, schema[name]), 1)
    )


def true_records(page: Page, entities: Iterable[Entity], schema: Mapping[str, RecordType]) -> tuple[Record, ...]:
    """The records of a page's annotation, in the same form: entities whose first words have the same `group`.

    An entity without a group is a record of its own.

    Args:
        entities: of the annotation, see `layoutray.tasks.TagsWords.entities_from_tags`.
    """
    records: list[Record] = []
    for name, placed in _by_record_type(page, entities, schema).items():
        groups: dict[int, list[_Placed]] = {}
        for number, one in enumerate(placed):
            group = page.words[one.entity.words[0]].group
            groups.setdefault(-1 - number if group is None else group, []).append(one)
        ordered = sorted(groups.values(), key=lambda group: min(one.middle for one in group))
        records += [_record(name, page.number, row, group, schema[name]) for row, group in enumerate(ordered, 1)]
    return tuple(records)


def check_records(schema: Mapping[str, RecordType], known: Iterable[str] = ()) -> None:
    """Check the names in [task.records].

    Args:
        known: the fields that a record may have; empty when they are not known yet.

    Raises:
        InputError: for a record without a name, a field that is in two records, and a field that is not in `known`.
    """
    known = sorted(set(known))
    owners: dict[str, str] = {}
    for name, record_type in schema.items():
        if not name.strip():
            raise InputError("task.records has a record without a name; name it, for example [task.records.items]")
        for kind in record_type.fields:
            if other := owners.get(kind):
                raise InputError(
                    f"{kind} is a field of task.records.{other} and of task.records.{name}; allowed is one"
                )
            if known and kind not in known:
                raise InputError(f"task.records.{name}.fields has {kind!r}; there are only {', '.join(known)}")
            owners[kind] = name


@dataclass(frozen=True, slots=True)
class _Placed:
    """An entity with the place of its first line.

    Attributes:
        middle, height: of its words on that line, in pixels; `middle` after the page was levelled.
        left: of all its words, in pixels.
    """

    entity: Entity
    middle: float
    height: float
    left: float


_Row = list[_Placed]


def _by_record_type(
    page: Page, entities: Iterable[Entity], schema: Mapping[str, RecordType]
) -> dict[str, list[_Placed]]:
    owners = {kind: name for name, record_type in schema.items() for kind in record_type.fields}
    wanted = [entity for entity in entities if entity.type in owners and entity.words]
    placed: dict[str, list[_Placed]] = {name: [] for name in schema}
    slope = slope_of_lines(page) if wanted else 0.0
    for entity in wanted:
        placed[owners[entity.type]].append(_place(page, entity, slope))
    return placed


def _place(page: Page, entity: Entity, slope: float) -> _Placed:
    words = [page.words[number] for number in entity.words]
    sides = np.array([(word.box.x0, word.box.y0, word.box.x1, word.box.y1) for word in words])
    sides *= page.width, page.height, page.width, page.height
    middles = (sides[:, 1] + sides[:, 3] - slope * (sides[:, 0] + sides[:, 2])) / 2
    lines = np.array([word.line for word in words])
    first = lines == lines[middles.argmin()]
    height = float((sides[first, 3] - sides[first, 1]).mean())
    return _Placed(entity, float(middles[first].mean()), height, float(sides[:, 0].min()))


def _groups(placed: Sequence[_Placed], record_type: RecordType) -> list[_Row]:
    """The entities of each record."""
    types = {one.entity.type for one in placed}
    if not types:
        return []
    key = next(kind for kind in record_type.fields if kind in types)
    rows = [part for row in _rows(placed) for part in _parts(row, key)]
    of_rows = [{one.entity.type for one in row} for row in rows]
    with_key = [number for number, of_row in enumerate(of_rows) if key in of_row]
    above, below = of_rows[: with_key[0]], of_rows[with_key[-1] + 1 :]
    leading = set[str]().union(*above).difference(*below)
    groups: list[_Row] = [[]]
    complete = False
    for row, of_row in zip(rows, of_rows, strict=True):
        if complete and (key in of_row or of_row & leading):
            groups.append([])
            complete = False
        groups[-1] += row
        complete = complete or key in of_row
    return groups


def _rows(placed: Sequence[_Placed]) -> list[_Row]:
    """The rows of a page from top to bottom, each from left to right."""
    rows: list[_Row] = []
    for one in sorted(placed, key=lambda one: one.middle):
        if rows and _are_level(rows[-1], one):
            rows[-1].append(one)
        else:
            rows.append([one])
    return [sorted(row, key=lambda one: one.left) for row in rows]


def _are_level(row: _Row, one: _Placed) -> bool:
    middle, height = (float(np.mean([getattr(other, name) for other in row])) for name in ("middle", "height"))
    return one.middle - middle < _SAME_ROW * min(height, one.height)


def _parts(row: _Row, key: str) -> Iterator[_Row]:
    """The row, divided where a second record stands beside the first."""
    if sum(one.entity.type == key for one in row) < 2:
        yield row
        return
    part: _Row = []
    for one in row:
        of_part = {other.entity.type for other in part}
        if key in of_part and one.entity.type in of_part:
            yield part
            part = []
        part.append(one)
    yield part


def _record(name: str, page_number: int, row: int, group: Iterable[_Placed], record_type: RecordType) -> Record:
    order = {kind: number for number, kind in enumerate(record_type.fields)}
    ordered = sorted(group, key=lambda one: (order[one.entity.type], one.middle, one.left))
    fields = tuple(one.entity for one in ordered)
    return Record(name, page_number, row, min(entity.confidence for entity in fields), fields)
