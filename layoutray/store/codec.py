"""Pages, documents, dead letters and answers as Arrow rows, and back.

Pages are converted column by column: the words of all pages are one text buffer, their boxes one float buffer. Code
that needs numbers but no objects calls `boxes_of`, which copies nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate, chain, pairwise, starmap
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from layoutray.document import Box, Document, Field, Page, Provenance, Word
from layoutray.document.answers import Answer, DocumentFields, Entity, Region
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import ANSWERS, DEAD_LETTERS, DOCUMENTS, FIELDS, PAGES


def pages_table(pages: Iterable[Page], page_ids: Iterable[str]) -> pa.Table:
    """PAGES rows. `page_ids` has the identity of each page, in the same order."""
    rows = list(pages)
    words = list(chain.from_iterable(page.words for page in rows))
    offsets = _offsets(len(page.words) for page in rows)
    boxes = np.fromiter(
        chain.from_iterable((b.x0, b.y0, b.x1, b.y1) for b in (word.box for word in words)), np.float32, 4 * len(words)
    )
    columns: dict[str, pa.Array] = {
        "page_id": pa.array(page_ids, pa.string()),
        "page": pa.array([page.number for page in rows], pa.int32()),
        "words": _lists(offsets, pa.array([word.text for word in words], pa.large_string())),
        "boxes": _lists(offsets, pa.FixedSizeListArray.from_arrays(pa.array(boxes), 4)),
        "confidences": _optional_lists(rows, words, "confidence", pa.float32()),
        "lines": _lists(offsets, pa.array([word.line for word in words], pa.int32())),
        "blocks": _lists(offsets, pa.array([word.block for word in words], pa.int32())),
        "tags": _optional_lists(rows, words, "tag", pa.large_string()),
        "groups": _optional_lists(rows, words, "group", pa.int32()),
        "words_from": pa.array([page.provenance.words for page in rows], pa.string()),
        "words_reason": pa.array([page.provenance.reason for page in rows], pa.string()),
        "engine": pa.array([page.provenance.engine for page in rows], pa.string()),
        "engine_version": pa.array([page.provenance.version for page in rows], pa.string()),
        "settings": pa.array([page.provenance.settings for page in rows], pa.string()),
    }
    for name in ("doc_id", "split", "source", "image", "width", "height"):
        columns[name] = pa.array([getattr(page, name) for page in rows], PAGES.field(name).type)
    return pa.table([columns[name] for name in PAGES.names], schema=PAGES)


def pages_of(table: pa.Table) -> Iterator[Page]:
    """The pages of PAGES rows, in row order. Rows of earlier versions have no column `groups`."""
    boxes, offsets = boxes_of(table)
    all_boxes = list(starmap(Box, boxes.astype(float).tolist()))
    lists = ("words", "boxes", "confidences", "tags", "groups", "lines", "blocks")
    plain = table.select([name for name in table.column_names if name not in lists]).to_pylist()
    texts, lines, blocks = (table[name].combine_chunks().flatten().to_pylist() for name in ("words", "lines", "blocks"))
    confidences, tags, groups = (
        table[name].to_pylist() if name in table.column_names else [None] * len(table)
        for name in ("confidences", "tags", "groups")
    )
    for index, (row, (start, end)) in enumerate(zip(plain, pairwise(offsets.tolist()), strict=True)):
        missing = [None] * (end - start)
        columns = zip(
            texts[start:end],
            all_boxes[start:end],
            confidences[index] or missing,
            lines[start:end],
            blocks[start:end],
            tags[index] or missing,
            groups[index] or missing,
            strict=True,
        )
        words = (
            Word(text=text, box=box, confidence=confidence, line=line, block=block, tag=tag, group=group)
            for text, box, confidence, line, block, tag, group in columns
        )
        yield Page(
            doc_id=row["doc_id"],
            number=row["page"],
            width=row["width"],
            height=row["height"],
            words=tuple(words),
            source=row["source"],
            image=row["image"],
            split=row["split"],
            provenance=Provenance(
                words=row["words_from"],
                reason=row["words_reason"],
                engine=row["engine"],
                version=row["engine_version"],
                settings=row["settings"],
            ),
        )


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
    return pa.Table.from_pylist([document_row(document) for document in documents], schema=DOCUMENTS)


def documents_of(table: pa.Table) -> Iterator[Document]:
    """The documents of DOCUMENTS rows, in row order."""
    return map(document_of, table.select(DOCUMENTS.names).to_pylist())


def document_row(document: Document) -> dict[str, Any]:
    """A document as one DOCUMENTS row of plain values."""
    return {
        "doc_id": document.doc_id,
        "source": document.source,
        "split": document.split,
        "num_pages": document.num_pages,
        "fields": [asdict(field) for field in document.fields],
    }


def document_of(row: Mapping[str, Any]) -> Document:
    """The document of one DOCUMENTS row. Fields of earlier versions have no `row`."""
    expected = tuple(Field(field["name"], field["value"], field.get("row")) for field in row["fields"])
    return Document(
        doc_id=row["doc_id"], source=row["source"], split=row["split"], num_pages=row["num_pages"], fields=expected
    )


def dead_letters_table(letters: Iterable[DeadLetter]) -> pa.Table:
    """DEAD_LETTERS rows."""
    return pa.Table.from_pylist([dead_letter_row(letter) for letter in letters], schema=DEAD_LETTERS)


def dead_letters_of(table: pa.Table) -> Iterator[DeadLetter]:
    """The dead letters of DEAD_LETTERS rows, in row order."""
    return map(dead_letter_of, table.select(DEAD_LETTERS.names).to_pylist())


def dead_letter_row(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter as one DEAD_LETTERS row of plain values."""
    return asdict(letter)


def dead_letter_of(row: Mapping[str, Any]) -> DeadLetter:
    """The dead letter of one DEAD_LETTERS row."""
    return DeadLetter(**row)


def answers_table(answers: Iterable[Answer]) -> pa.Table:
    """ANSWERS rows, one per entity; one row with an empty type for a page or document without entities.

    An entity of a record has the record's name and row.
    """
    return pa.Table.from_pylist([row for answer in answers for row in _answer_rows(answer)], schema=ANSWERS)


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


_ENTITY_COLUMNS = ("type", "content", "confidence", "reading_confidence", "sum_of_rows")


def _answer_rows(answer: Answer) -> Iterator[dict[str, Any]]:
    shared = {name: getattr(answer, name) for name in ("doc_id", "source", "status", "model_id", "model_version")}
    records = {entity: record for record in answer.records for entity in record.fields}
    for entity in answer.entities:
        plain = {name: getattr(entity, name) for name in _ENTITY_COLUMNS}
        record = records.get(entity)
        place = {"record": record.name, "row": record.row} if record else {}
        yield shared | plain | place | _position(entity.bounding_regions)
    if not answer.entities:
        numbers = [page.page_number for page in answer.pages]
        page = numbers[0] if len(numbers) == 1 else 0
        nothing = {"type": "", "content": "", "confidence": 0.0, "reading_confidence": 0.0}
        yield shared | nothing | {"page": page, "polygons": []}


_FIELD_COLUMNS = ("name", "value", "content", "confidence", "score", "known_value", "accepted")


def _position(regions: Sequence[Region]) -> dict[str, Any]:
    return {"page": regions[0].page_number if regions else 0, "polygons": [region.polygon for region in regions]}


def _offsets(lengths: Iterable[int]) -> pa.Array:
    return pa.array(accumulate(lengths, initial=0), pa.int64())


def _lists(offsets: pa.Array, values: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(offsets, values)


def _optional_lists(pages: Sequence[Page], words: Sequence[Word], name: str, kind: pa.DataType) -> pa.Array:
    """Values of the words' attribute `name`, one list per page.

    The list is null if no word of the page has the value. Null means that nobody labelled the page; a list of nulls
    would mean that its words have no label.
    """
    values = [getattr(word, name) for word in words]
    ends = accumulate((len(page.words) for page in pages), initial=0)
    lists = [values[start:end] for start, end in pairwise(ends)]
    is_null = [all(value is None for value in page_values) for page_values in lists]
    kept = [[] if null else page_values for page_values, null in zip(lists, is_null, strict=True)]
    return pa.LargeListArray.from_arrays(
        _offsets(map(len, kept)),
        pa.array(chain.from_iterable(kept), kind),
        mask=pa.array(is_null, pa.bool_()),
    )
