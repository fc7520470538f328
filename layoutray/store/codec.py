"""Between what people handle (pages, documents, answers) and the columns on disk.

Both ways work column by column: the words of all pages are one text buffer, their boxes one float buffer. Code that
needs numbers and no objects takes `boxes_of`, which copies nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate, chain, pairwise, starmap
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from layoutray.answers import Answer, DocumentFields, Entity, Region
from layoutray.document import Box, Document, Field, Page, Provenance, Word
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import ANSWERS, DEAD_LETTERS, DOCUMENTS, FIELDS, PAGES


def pages_table(pages: Iterable[Page], page_ids: Iterable[str]) -> pa.Table:
    """PAGES rows, one per page; the two arguments run in parallel."""
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
    """The pages of PAGES rows, in their order."""
    boxes, offsets = boxes_of(table)
    all_boxes = list(starmap(Box, boxes.astype(float).tolist()))
    lists = ("words", "boxes", "confidences", "tags", "lines", "blocks")
    plain = table.select([name for name in table.column_names if name not in lists]).to_pylist()
    texts, lines, blocks = (_values(table, name).to_pylist() for name in ("words", "lines", "blocks"))
    confidences, tags = (table[name].to_pylist() for name in ("confidences", "tags"))
    for index, (row, (start, end)) in enumerate(zip(plain, pairwise(offsets.tolist()), strict=True)):
        nothing = [None] * (end - start)
        words = map(
            Word,
            texts[start:end],
            all_boxes[start:end],
            confidences[index] or nothing,
            lines[start:end],
            blocks[start:end],
            tags[index] or nothing,
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
                row["words_from"], row["words_reason"], row["engine"], row["engine_version"], row["settings"]
            ),
        )


def boxes_of(table: pa.Table) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Boxes of all words of PAGES rows without making objects.

    Returns:
        Array (words, 4) in shares of the page, and rows + 1 offsets: row i holds `boxes[offsets[i]:offsets[i + 1]]`.
    """
    column = table["boxes"].combine_chunks()
    offsets = column.offsets.to_numpy()
    return column.flatten().flatten().to_numpy().reshape(-1, 4), offsets - offsets[:1]


def documents_table(documents: Iterable[Document]) -> pa.Table:
    """DOCUMENTS rows."""
    rows = list(documents)
    columns = {
        name: [getattr(document, name) for document in rows] for name in ("doc_id", "source", "split", "num_pages")
    }
    fields = [[asdict(field) for field in document.fields] for document in rows]
    return pa.table({**columns, "fields": fields}, schema=DOCUMENTS)


def documents_of(table: pa.Table) -> Iterator[Document]:
    """The documents of DOCUMENTS rows, in their order."""
    return (document_of(row) for row in table.select(DOCUMENTS.names).to_pylist())


def document_of(row: Mapping[str, Any]) -> Document:
    """The document of one DOCUMENTS row as a dict."""
    fields = tuple(Field(field["name"], field["value"]) for field in row["fields"])
    return Document(row["doc_id"], row["source"], row["split"], row["num_pages"], fields)


def dead_letters_table(letters: Iterable[DeadLetter]) -> pa.Table:
    """DEAD_LETTERS rows."""
    return pa.Table.from_pylist([asdict(letter) for letter in letters], schema=DEAD_LETTERS)


def dead_letters_of(table: pa.Table) -> Iterator[DeadLetter]:
    """The dead letters of DEAD_LETTERS rows, in their order."""
    return (DeadLetter(**row) for row in table.select(DEAD_LETTERS.names).to_pylist())


def answers_table(answers: Iterable[Answer]) -> pa.Table:
    """ANSWERS rows, one per entity; a document without entities keeps one row of page 0 with an empty type."""
    return pa.Table.from_pylist([row for answer in answers for row in _answer_rows(answer)], schema=ANSWERS)


def entity_of(row: Mapping[str, Any]) -> Entity:
    """The entity of one ANSWERS row as a dict, without the numbers of its words, which are not in the table."""
    regions = tuple(Region(row["page"], tuple(polygon)) for polygon in row["polygons"])
    return Entity(row["type"], row["content"], row["confidence"], regions, ())


def fields_table(documents: Iterable[DocumentFields]) -> pa.Table:
    """FIELDS rows, one per value of a field; none for a document without values."""
    return pa.Table.from_pylist([row for document in documents for row in _field_rows(document)], schema=FIELDS)


def _answer_rows(answer: Answer) -> Iterator[dict[str, Any]]:
    shared = {name: getattr(answer, name) for name in ("doc_id", "source", "status", "model_id", "model_version")}
    for entity in answer.entities or (Entity("", "", 0.0, (), ()),):
        plain = {name: getattr(entity, name) for name in ("type", "content", "confidence")}
        yield shared | plain | _place(entity.bounding_regions)


def _field_rows(document: DocumentFields) -> Iterator[dict[str, Any]]:
    shared = {name: getattr(document, name) for name in ("doc_id", "source", "model_id", "model_version")}
    for field in document.fields:
        plain = {name: getattr(field, name) for name in ("name", "value", "content", "confidence", "score")}
        yield shared | plain | _place(field.bounding_regions)


def _place(regions: Sequence[Region]) -> dict[str, Any]:
    return {"page": regions[0].page_number if regions else 0, "polygons": [region.polygon for region in regions]}


def _offsets(lengths: Iterable[int]) -> pa.Array:
    return pa.array(accumulate(lengths, initial=0), pa.int64())


def _lists(offsets: pa.Array, values: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(offsets, values)


def _optional_lists(pages: Sequence[Page], words: Sequence[Word], name: str, kind: pa.DataType) -> pa.Array:
    """A list per page; null where no word of the page has the value, so that "nobody labelled this" is not "labelled as nothing"."""
    values = [getattr(word, name) for word in words]
    ends = list(accumulate((len(page.words) for page in pages), initial=0))
    given = [any(value is not None for value in values[start:end]) for start, end in pairwise(ends)]
    kept = list(
        chain.from_iterable(
            values[start:end] for (start, end), any_given in zip(pairwise(ends), given, strict=True) if any_given
        )
    )
    offsets = _offsets(
        end - start if any_given else 0 for (start, end), any_given in zip(pairwise(ends), given, strict=True)
    )
    return pa.LargeListArray.from_arrays(
        offsets, pa.array(kept, kind), mask=pa.array([not any_given for any_given in given], pa.bool_())
    )


def _values(table: pa.Table, name: str) -> pa.Array:
    return table[name].combine_chunks().flatten()
