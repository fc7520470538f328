"""Pages, documents, dead letters and answers as Arrow rows, and back.

Code that needs numbers but no objects calls `boxes_of`, which copies nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise, starmap
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from layoutray.document import Box, Document, Field, Page, Provenance, Word
from layoutray.document.answers import Answer, DocumentFields, Entity, Region
from layoutray.document.page import FormField
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import ANSWERS, DEAD_LETTERS, DOCUMENTS, FIELDS, PAGES

_PAGE = {"number": "page"} | {name: name for name in ("doc_id", "split", "source", "image", "width", "height")}
PROVENANCE = {
    "words": "words_from",
    "reason": "words_reason",
    "engine": "engine",
    "version": "engine_version",
    "settings": "settings",
}
"""Columns of attributes of a page and of its provenance."""
_WORD = {"text": "words", "line": "lines", "block": "blocks"}
_OPTIONAL = {"confidence": "confidences", "tag": "tags", "group": "groups"}
"""Columns of attributes of the words of a page."""


def pages_table(pages: Iterable[Page], page_ids: Iterable[str]) -> pa.Table:
    """PAGES rows. `page_ids` has the identity of each page, in the same order.

    A list of optional values is null if no word of the page has one. Null means that nobody labelled the page; a list
    of nulls would mean that its words have no label.
    """
    rows = list(pages)
    columns: dict[str, list[Any]] = {"page_id": list(page_ids)}
    columns |= {column: [getattr(page, name) for page in rows] for name, column in _PAGE.items()}
    columns |= {column: [getattr(page.provenance, name) for page in rows] for name, column in PROVENANCE.items()}
    boxes = ([word.box for word in page.words] for page in rows)
    columns["boxes"] = [[(box.x0, box.y0, box.x1, box.y1) for box in of_page] for of_page in boxes]
    columns["form_fields"] = [[*map(asdict, page.form_fields)] or None for page in rows]
    for name, column in (_WORD | _OPTIONAL).items():
        columns[column] = [[getattr(word, name) for word in page.words] for page in rows]
    for column in _OPTIONAL.values():
        columns[column] = [None if values.count(None) == len(values) else values for values in columns[column]]
    return pa.Table.from_pydict(columns, schema=PAGES)


def pages_of(table: pa.Table) -> Iterator[Page]:
    """The pages of PAGES rows, in row order. Rows of earlier versions have no columns `groups` and `form_fields`."""
    boxes, offsets = boxes_of(table)
    all_boxes = list(starmap(Box, boxes.astype(float).tolist()))
    rows = table.drop_columns("boxes").to_pylist()
    for row, (start, end) in zip(rows, pairwise(offsets.tolist()), strict=True):
        missing = [None] * (end - start)
        optional = (row.get(column) or missing for column in _OPTIONAL.values())
        columns = zip(row["words"], all_boxes[start:end], row["lines"], row["blocks"], *optional, strict=True)
        words = (
            Word(text=text, box=box, line=line, block=block, confidence=confidence, tag=tag, group=group)
            for text, box, line, block, confidence, tag, group in columns
        )
        provenance = Provenance(**{name: row[column] for name, column in PROVENANCE.items()})
        plain = {name: row[column] for name, column in _PAGE.items()}
        form_fields = tuple(map(form_field_of, row.get("form_fields") or ()))
        yield Page(**plain, words=tuple(words), provenance=provenance, form_fields=form_fields)


def form_field_of(row: Mapping[str, Any]) -> FormField:
    """The form field of a row of the column `form_fields`."""
    return FormField(**dict(row, box=row["box"] and Box(**row["box"])))


def boxes_of(table: pa.Table) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Boxes of all words of PAGES rows, without creating objects.

    Returns:
        Boxes (words, 4) as fractions of the page, and offsets (rows + 1): row i has `boxes[offsets[i]:offsets[i + 1]]`.
    """
    column = table["boxes"].combine_chunks()
    offsets = column.offsets.to_numpy()
    return column.flatten().flatten().to_numpy().reshape(-1, 4), offsets - offsets[:1]


def documents_table(documents: Iterable[Document]) -> pa.Table:
    """DOCUMENTS rows."""
    return pa.Table.from_pylist(list(map(asdict, documents)), schema=DOCUMENTS)


def documents_of(table: pa.Table) -> Iterator[Document]:
    """The documents of DOCUMENTS rows, in row order. Rows of earlier versions lack columns, and fields `row`."""
    for row in table.select(DOCUMENTS.names).to_pylist():
        fields = tuple(Field(**field) for field in row["fields"])
        said_by, partial = row["from_model"] or "", bool(row["partial"])
        yield Document(**row | {"fields": fields, "from_model": said_by, "partial": partial})


def dead_letters_table(letters: Iterable[DeadLetter]) -> pa.Table:
    """DEAD_LETTERS rows."""
    return pa.Table.from_pylist(list(map(asdict, letters)), schema=DEAD_LETTERS)


def dead_letters_of(table: pa.Table) -> Iterator[DeadLetter]:
    """The dead letters of DEAD_LETTERS rows, in row order."""
    return (DeadLetter(**row) for row in table.select(DEAD_LETTERS.names).to_pylist())


def answers_table(answers: Iterable[Answer]) -> pa.Table:
    """ANSWERS rows, one per entity; one row with an empty type for a page or document without entities.

    An entity of a record has the record's name and row.
    """
    rows: list[dict[str, Any]] = []
    for answer in answers:
        shared = {name: getattr(answer, name) for name in ("doc_id", "source", "status", "model_id", "model_version")}
        records = {entity: record for record in answer.records for entity in record.fields}
        for entity in answer.entities:
            plain = {name: getattr(entity, name) for name in _ENTITY_COLUMNS}
            record = records.get(entity)
            place = {"record": record.name, "row": record.row} if record else {}
            rows.append(shared | plain | place | _position(entity.bounding_regions))
        if not answer.entities:
            numbers = [page.page_number for page in answer.pages]
            page = numbers[0] if len(numbers) == 1 else 0
            nothing = {"type": "", "content": "", "confidence": 0.0, "reading_confidence": 0.0, "near_amount": False}
            rows.append(shared | nothing | {"page": page, "polygons": []})
    return pa.Table.from_pylist(rows, schema=ANSWERS)


def entity_of(row: Mapping[str, Any]) -> Entity:
    """The entity of one ANSWERS row. It has no word numbers, because the table does not store them."""
    regions = tuple(Region(row["page"], tuple(polygon)) for polygon in row["polygons"])
    return Entity(**{name: row[name] for name in _ENTITY_COLUMNS}, bounding_regions=regions, words=())


def fields_table(documents: Iterable[DocumentFields]) -> pa.Table:
    """FIELDS rows, one per value of a field."""
    rows: list[dict[str, Any]] = []
    for document in documents:
        shared = {name: getattr(document, name) for name in ("doc_id", "source", "model_id", "model_version")}
        for field in document.fields:
            plain = {name: getattr(field, name) for name in _FIELD_COLUMNS}
            rows.append(shared | plain | _position(field.bounding_regions))
    return pa.Table.from_pylist(rows, schema=FIELDS)


_ENTITY_COLUMNS = (
    *("type", "content", "confidence", "reading_confidence", "sum_of_rows", "near_amount", "form_field", "drawn"),
)
_FIELD_COLUMNS = ("name", "value", "content", "confidence", "score", "known_value", "accepted", "form_field", "drawn")


def _position(regions: Sequence[Region]) -> dict[str, Any]:
    return {"page": regions[0].page_number if regions else 0, "polygons": [region.polygon for region in regions]}
