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

from layoutray.document import Page
from layoutray.document.answers import Entity, Record
from layoutray.document.record_type import RecordType
from layoutray.document.rows import Placed, place, rows, slope_of_lines
from layoutray.errors import InputError


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
        groups: dict[int, list[Placed[Entity]]] = {}
        for number, one in enumerate(placed):
            group = page.words[one.item.words[0]].group
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


_Row = list[Placed[Entity]]


def _by_record_type(
    page: Page, entities: Iterable[Entity], schema: Mapping[str, RecordType]
) -> dict[str, list[Placed[Entity]]]:
    owners = {kind: name for name, record_type in schema.items() for kind in record_type.fields}
    wanted = [entity for entity in entities if entity.type in owners and entity.words]
    placed: dict[str, list[Placed[Entity]]] = {name: [] for name in schema}
    slope = slope_of_lines(page) if wanted else 0.0
    for entity in wanted:
        placed[owners[entity.type]].append(place(entity, page, entity.words, slope))
    return placed


def _groups(placed: Sequence[Placed[Entity]], record_type: RecordType) -> list[_Row]:
    """The entities of each record."""
    types = {one.item.type for one in placed}
    if not types:
        return []
    key = next(kind for kind in record_type.fields if kind in types)
    parts = [part for row in rows(placed) for part in _parts(row, key)]
    of_rows = [{one.item.type for one in part} for part in parts]
    with_key = [number for number, of_row in enumerate(of_rows) if key in of_row]
    above, below = of_rows[: with_key[0]], of_rows[with_key[-1] + 1 :]
    leading = set[str]().union(*above).difference(*below)
    groups: list[_Row] = [[]]
    complete = False
    for part, of_row in zip(parts, of_rows, strict=True):
        if complete and (key in of_row or of_row & leading):
            groups.append([])
            complete = False
        groups[-1] += part
        complete = complete or key in of_row
    return groups


def _parts(row: _Row, key: str) -> Iterator[_Row]:
    """The row, divided where a second record stands beside the first."""
    if sum(one.item.type == key for one in row) < 2:
        yield row
        return
    part: _Row = []
    for one in row:
        of_part = {other.item.type for other in part}
        if key in of_part and one.item.type in of_part:
            yield part
            part = []
        part.append(one)
    yield part


def _record(name: str, page_number: int, row: int, group: Iterable[Placed[Entity]], record_type: RecordType) -> Record:
    order = {kind: number for number, kind in enumerate(record_type.fields)}
    ordered = sorted(group, key=lambda one: (order[one.item.type], one.middle, one.left))
    fields = tuple(one.item for one in ordered)
    return Record(
        name=name,
        page_number=page_number,
        row=row,
        confidence=min(entity.confidence for entity in fields),
        fields=fields,
    )
