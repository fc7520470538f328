"""Group the entities of a document into records, for example the line items of an invoice, by where they stand.

Nothing is learned: the record type names the entities of a record, and the first of its fields is the key, which each
record has once. Rows of text are levelled by the median slope of the page's lines, because photographs are skewed.

1. Entities whose first lines are level are a row. A row with several keys has records side by side, and is divided.
2. A record begins at the row of its key. Some layouts print other fields above the key, such as the quantity. Types
   that stand above the first key, and not below the last one, are taken as such: a record also begins at their row.
3. All further rows belong to the record above, also if it is on the page before.
4. Sums that are carried over a page break are no records, and neither are headings that a page repeats.

If no page has an entity of the key's type, the next field of the record type that one has is the key; a page with
several records and without the key has one of its own. The first page with keys decides what stands above them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from layoutray.document import Page
from layoutray.document.answers import Entity, Record, RecordSum
from layoutray.document.record_sums import checked, record_sum
from layoutray.document.record_type import RecordType
from layoutray.document.rows import Placed, place, rows, slope_of_lines
from layoutray.errors import InputError


def find_records(
    pages: Sequence[Page], entities: Sequence[Iterable[Entity]], schema: Mapping[str, RecordType]
) -> tuple[Record, ...]:
    """The records that the entities of a document's pages form, from top to bottom, by the names of `schema`.

    Args:
        entities: found on each page. Entities of types that `schema` does not name, and without words, are left out.
    """
    by_page = [_by_record_type(page, found, schema) for page, found in zip(pages, entities, strict=True)]
    records: list[Record] = []
    for name, kind in schema.items():
        placed = [of_page[name] for of_page in by_page]
        columns = _Columns.of(placed, kind)
        of_name: list[Record] = []
        for page, on_page in zip(pages, placed, strict=True):
            types = [one.item.type for one in on_page]
            if columns.key in types or len(types) == len(set(types)):
                groups = _groups(on_page, columns, follows=bool(of_name))
            else:
                groups = _groups(on_page, _Columns.of([on_page], kind), follows=False)
            if of_name and groups and columns.key not in _types_of(groups[0]):
                of_name[-1] = _joined(of_name[-1], groups.pop(0), kind)
            found = [_record(name, page.number, group, kind) for group in groups]
            of_name += found[_is_heading(found, pages, of_name) :]
        if kind.amount:
            of_name = checked(of_name, kind)
        records += [replace(record, row=row) for row, record in enumerate(of_name, 1)]
    return tuple(records)


def record_sums(
    pages: Sequence[Page], records: Iterable[Record], schema: Mapping[str, RecordType]
) -> tuple[RecordSum, ...]:
    """The sums of the records of a document, of each kind that names its amounts; see `record_sum`."""
    of_name = {name: [record for record in records if record.name == name] for name in schema}
    sums = [record_sum(of_name[name], kind, pages) for name, kind in schema.items() if kind.amount and of_name[name]]
    return tuple(one for one in sums if one)


def true_records(
    pages: Sequence[Page], entities: Sequence[Iterable[Entity]], schema: Mapping[str, RecordType]
) -> tuple[Record, ...]:
    """The records of a document's annotation, in the same form: entities whose first words have the same `group`.

    An entity without a group is a record of its own.

    Args:
        entities: of the annotation of each page, see `layoutray.tasks.TagsWords.entities_from_tags`.
    """
    groups: dict[str, dict[tuple[int, int], tuple[int, _Row]]] = {name: {} for name in schema}
    for page, found in zip(pages, entities, strict=True):
        for name, placed in _by_record_type(page, found, schema).items():
            for number, one in enumerate(placed):
                group = page.words[one.item.words[0]].group
                key = (0, group) if group is not None else (page.number, number)
                groups[name].setdefault(key, (page.number, []))[1].append(one)
    records: list[Record] = []
    for name, of_name in groups.items():
        ordered = sorted(of_name.values(), key=lambda group: (group[0], min(one.middle for one in group[1])))
        records += [
            replace(_record(name, number, group, schema[name]), row=row)
            for row, (number, group) in enumerate(ordered, 1)
        ]
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


@dataclass(frozen=True, slots=True)
class _Columns:
    """How the records of a document stand.

    Attributes:
        key: type of the entity with which a record begins; empty without entities.
        leading: types that stand above the key.
    """

    key: str
    leading: frozenset[str]

    @classmethod
    def of(cls, placed: Sequence[_Row], kind: RecordType) -> Self:
        """Those of the first page with a key."""
        types = {one.item.type for on_page in placed for one in on_page}
        key = next((name for name in kind.fields if name in types), "")
        for on_page in placed:
            of_rows = [_types_of(part) for row in rows(on_page) for part in _parts(row, key)]
            if with_key := [number for number, of_row in enumerate(of_rows) if key in of_row]:
                above, below = of_rows[: with_key[0]], of_rows[with_key[-1] + 1 :]
                return cls(key, frozenset(set[str]().union(*above).difference(*below)))
        return cls(key, frozenset())


def _groups(placed: _Row, columns: _Columns, follows: bool) -> list[_Row]:
    """The entities of each record of a page.

    Args:
        follows: whether a page before has records. The first group then has no key if it ends the last of them.
    """
    groups: list[_Row] = [[]]
    complete = False
    for row in rows(placed):
        for part in _parts(row, columns.key):
            types = {one.item.type for one in part}
            starts = complete or (follows and bool(groups[-1]) and not _types_of(groups[-1]) & columns.leading)
            if starts and (columns.key in types or types & columns.leading):
                groups.append([])
                complete = False
            groups[-1] += part
            complete = complete or columns.key in types
    return groups if placed else []


def _types_of(group: _Row) -> set[str]:
    return {one.item.type for one in group}


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


def _joined(record: Record, rest: Iterable[Placed[Entity]], kind: RecordType) -> Record:
    order = {name: number for number, name in enumerate(kind.fields)}
    fields = sorted([*record.fields, *(one.item for one in rest)], key=lambda entity: order[entity.type])
    return replace(record, fields=tuple(fields), confidence=min(entity.confidence for entity in fields))


def _is_heading(found: Sequence[Record], pages: Sequence[Page], before: Sequence[Record]) -> bool:
    """Whether the first record of a page repeats words of the first page with records, and has no digit."""
    if not (found and before):
        return False
    contents = [entity.content for entity in found[0].fields]
    first = next(page for page in pages if page.number == before[0].page_number)
    words = " ".join(word.text for word in first.words)
    taken = {entity.content for record in before for entity in record.fields}
    return all(content in words and content not in taken and not any(map(str.isdigit, content)) for content in contents)


def _record(name: str, page_number: int, group: Iterable[Placed[Entity]], record_type: RecordType) -> Record:
    order = {kind: number for number, kind in enumerate(record_type.fields)}
    ordered = sorted(group, key=lambda one: (order[one.item.type], one.middle, one.left))
    fields = tuple(one.item for one in ordered)
    return Record(
        name=name,
        page_number=page_number,
        row=1,
        confidence=min(entity.confidence for entity in fields),
        fields=fields,
    )
