"""Count the answers of a bulk extraction, and combine the entities of each document into its fields, on the cluster.

The pages of a document may be in any shards. A first pass over groups of shards counts them, and writes the rows of
each group sorted by document. A second pass reads ranges of documents, of all groups. Every row is read twice, whatever
the number of documents, and no process holds more than a group or a range.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, islice
from math import ceil
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ray.data

from layoutray.cluster.answer_job import JobIdentity
from layoutray.document.answers import DocumentFields
from layoutray.document.field_type import FieldType
from layoutray.store import codec, shards, sources
from layoutray.store.answer_set import AnswerSet
from layoutray.store.id_ranges import id_ranges, in_range
from layoutray.store.schema import ANSWERS
from layoutray.tasks.field_answers import field_answers

_SHARDS_PER_GROUP = 256
_ROWS_PER_RANGE = 200_000
_ROWS_PER_ROW_GROUP = 4096
"""A range reads only the row groups of a sorted shard that have its documents."""
_DOCUMENTS_PER_SHARD = 4096
_CPUS = 0.5


def count_answers(answers: AnswerSet, fields: Mapping[str, FieldType], identity: JobIdentity) -> dict[str, int]:
    """Count all answers. If the model answers `fields` of documents, write these anew, and count them."""
    grouped = sources.join(answers.folder, "grouped")
    for folder in (answers.fields, grouped):
        sources.remove_folder(folder)
    uris = shards.shards(answers.tables)
    groups = [uris[start : start + _SHARDS_PER_GROUP] for start in range(0, len(uris), _SHARDS_PER_GROUP)]
    counts = dict.fromkeys(("answered", "failed", "entities", "fields", "without_fields"), 0)
    counts |= _sum(partial(_count_group, grouped=grouped if fields else ""), groups)
    if shards.shards(grouped):
        count = ceil((counts["answered"] + counts["entities"]) / _ROWS_PER_RANGE)
        ranges = [list(bounds) for bounds in id_ranges(count)]
        answer = partial(_answer_range, grouped=grouped, answers=answers, fields=fields, identity=identity)
        counts |= _sum(answer, ranges)
        sources.remove_folder(grouped)
    return counts


def _sum(function: Any, items: Sequence[Any]) -> dict[str, int]:
    """The sums of the counts that `function` returns for each item, on the cluster."""
    sums: dict[str, int] = {}
    if items:
        data = ray.data.from_items([{"item": item} for item in items], override_num_blocks=len(items))
        for row in data.map(function, num_cpus=_CPUS).iter_rows():
            sums = {name: sums.get(name, 0) + count for name, count in row.items()}
    return sums


def _count_group(row: Mapping[str, Any], grouped: str) -> dict[str, int]:
    """Count the answers of a group of shards. If `grouped` is a folder, write the rows of pages there, sorted."""
    table = pa.concat_tables(map(shards.read_shard, row["item"]))
    pages = table.filter(pc.field("status") == "success")
    num_pages = pages.group_by(["doc_id", "source", "page"]).aggregate([]).num_rows
    if grouped and pages.num_rows:
        ordered = _by_document(pages)
        parts = (ordered.slice(at, _ROWS_PER_ROW_GROUP) for at in range(0, ordered.num_rows, _ROWS_PER_ROW_GROUP))
        shards.write_all(parts, ANSWERS, grouped, shards.part_name(row["item"]))
    num_entities = pages.filter(pc.field("type") != "").num_rows
    return {"answered": num_pages, "failed": table.num_rows - pages.num_rows, "entities": num_entities}


def _answer_range(
    row: Mapping[str, Any], grouped: str, answers: AnswerSet, fields: Mapping[str, FieldType], identity: JobIdentity
) -> dict[str, int]:
    rows = shards.read(grouped, ANSWERS, filter=in_range(*row["item"]))
    num_values = num_without = 0
    documents = _documents(_by_document(rows), fields, identity)
    while batch := list(islice(documents, _DOCUMENTS_PER_SHARD)):
        name = shards.stem(shards.part_name(document.doc_id for document in batch))
        num_values += answers.write_fields(batch, name)
        num_without += sum(not document.fields for document in batch)
    return {"fields": num_values, "without_fields": num_without}


def _documents(rows: pa.Table, fields: Mapping[str, FieldType], identity: JobIdentity) -> Iterator[DocumentFields]:
    """Each document with its fields; `rows` are sorted by document and page."""
    plain = (row for batch in rows.to_batches(max_chunksize=_ROWS_PER_ROW_GROUP) for row in batch.to_pylist())
    for doc_id, group in groupby(plain, key=itemgetter("doc_id")):
        document_rows = list(group)
        yield DocumentFields(
            doc_id=doc_id,
            source=document_rows[0]["source"],
            model_id=identity.model_id,
            model_version=identity.model_version,
            fields=field_answers(map(codec.entity_of, document_rows), fields),
        )


def _by_document(rows: pa.Table) -> pa.Table:
    # The entities of a page are in one shard, in order. The sort is stable, so it keeps that order.
    return rows.sort_by([("doc_id", "ascending"), ("page", "ascending")])
