"""Bulk extraction on the cluster: PAGES shards to ANSWERS shards, JSON lines, and FIELDS of whole documents."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ray.data

from layoutray.answers import Answer, DocumentFields, Problem
from layoutray.checkpoint import Fetch
from layoutray.cluster import gpus, page_slices
from layoutray.cluster.connect import allow_slow_batches
from layoutray.cluster.placement import ONE_REPLICA, Replicas
from layoutray.cluster.progress import Progress, follow, ignore_progress
from layoutray.devices import CPU
from layoutray.errors import InputError
from layoutray.inference import Extractor
from layoutray.store import codec, shards, sources
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import ANSWERS, PAGES
from layoutray.tasks.field_answers import field_answers

_PAGES_PER_SHARD = 128
_SHARDS_PER_REPLICA = 4
"""Lower bound for few pages, so that no replica waits long for the last one."""
_DOCUMENTS_PER_SHARD = 4096
_TABLES, _LINES, _FIELDS = "parquet", "jsonl", "fields"
"""Folders of the output: ANSWERS or TEXTS shards, the same as lines of JSON, FIELDS shards."""


@dataclass(frozen=True)
class Prediction:
    """Counts of the output. Every page of the input is either answered or failed.

    Attributes:
        fields: values of fields, of all documents; 0 for a model without fields.
        without_fields: readable documents for which no value was found; 0 for a model without fields.
    """

    pages: int
    failed: int
    entities: int
    fields: int = 0
    without_fields: int = 0


def predict(
    checkpoint: str | Path,
    ingested: str,
    out: str,
    *,
    replicas: Replicas = ONE_REPLICA,
    progress: Callable[[Progress], None] = ignore_progress,
) -> Prediction:
    """Answer every page of the data set `ingested`, as `out/parquet` and `out/jsonl` (one line of JSON per page).

    Dead letters are answered with status `failure` and the error. If the model finds fields of documents, the answers
    of all pages of a document are combined into `out/fields`. One process sorts the entities of fields, in memory.

    Raises:
        InputError: if `out` already contains answers.
        SchemaError: if `ingested` is not a data set.
        CheckpointError: if `checkpoint` is not a checkpoint of a model that finds entities.
    """
    # The checkpoint, the output and the shards' schemas are checked here, so that errors occur before workers start.
    extractor = Extractor.load(replicas.fetch(str(checkpoint)), CPU)
    check_no_answers(out)
    data_set = DataSet(ingested)
    data_set.check()
    lengths = {uri: ids.num_rows for uri, ids in shards.read_each(data_set.pages, PAGES, ["page_id"])}
    count = sum(lengths.values())
    receipts: list[dict[str, Any]] = []
    if count:
        batch_size = min(_PAGES_PER_SHARD, math.ceil(count / (_SHARDS_PER_REPLICA * replicas.count)))
        pages = ray.data.from_blocks(page_slices.batches(lengths, batch_size))
        allow_slow_batches(pages)
        answered = pages.map_batches(
            _AnswerShard,
            fn_constructor_args=(sources.absolute(str(checkpoint)), replicas.fetch, out),
            batch_size=1,
            batch_format="pyarrow",
            **replicas.placement(),
        )
        receipts = follow(answered, Progress("answer", 0, count), itemgetter("pages"), progress)
    fields, without_fields = _answer_fields(extractor, out) if receipts and extractor.fields else (0, 0)
    failed = _answer_dead_letters(extractor, data_set.read_dead_letters(), out)
    return Prediction(
        pages=sum(receipt["pages"] for receipt in receipts) + failed,
        failed=failed,
        entities=sum(receipt["entities"] for receipt in receipts),
        fields=fields,
        without_fields=without_fields,
    )


def check_no_answers(out: str) -> None:
    """Raise InputError if `out` contains answers."""
    parts = (_TABLES, _LINES, _FIELDS)
    if any(any(sources.list_files(sources.join(out, part))) for part in parts):
        raise InputError(
            f"{out} already contains answers; delete its folders {', '.join(parts)}, or give another --out"
        )


class _AnswerShard:
    """Answers the pages of a batch and writes its shard under a name made from the pages."""

    def __init__(self, checkpoint: str, fetch: Fetch, out: str) -> None:
        self._extractor = Extractor.load(fetch(checkpoint), gpus.assigned_device())
        self._out = out

    def __call__(self, batch: pa.Table) -> pa.Table:
        pages = page_slices.read(batch)
        answers = self._extractor.answers(list(codec.pages_of(pages)))
        _write(answers, self._out, shards.part_name(pages["page_id"].to_pylist()))
        return pa.table({"pages": [len(answers)], "entities": [sum(len(answer.entities) for answer in answers)]})


def _answer_fields(extractor: Extractor, out: str) -> tuple[int, int]:
    """Write the fields of all answered documents. Returns the number of values, and of documents without values."""
    answers = sources.join(out, _TABLES)
    entities = shards.read(answers, ANSWERS, filter=pc.field("type").isin(list(extractor.fields)))
    num_documents = len(shards.read(answers, ANSWERS, ["doc_id"])["doc_id"].unique())
    # The entities of a page are in one shard, in order. The sort is stable, so it keeps that order.
    documents = _document_fields(extractor, entities.sort_by([("doc_id", "ascending"), ("page", "ascending")]))
    num_values = num_with_values = 0
    while batch := list(islice(documents, _DOCUMENTS_PER_SHARD)):
        num_values += write_fields(batch, out)
        num_with_values += len(batch)
    return num_values, num_documents - num_with_values


def _document_fields(extractor: Extractor, entities: pa.Table) -> Iterator[DocumentFields]:
    """Fields of each document that has values.

    Args:
        entities: ANSWERS rows, sorted by document and page.
    """
    rows = (row for batch in entities.to_batches(max_chunksize=_PAGES_PER_SHARD) for row in batch.to_pylist())
    for doc_id, group in groupby(rows, key=itemgetter("doc_id")):
        document_rows = list(group)
        if fields := field_answers(map(codec.entity_of, document_rows), extractor.fields):
            source = document_rows[0]["source"]
            yield DocumentFields(doc_id, source, extractor.model_id, extractor.model_version, fields)


def _answer_dead_letters(extractor: Extractor, letters: Sequence[DeadLetter], out: str) -> int:
    answers = [
        Answer(
            doc_id=letter.doc_id,
            source=letter.source,
            model_id=extractor.model_id,
            model_version=extractor.model_version,
            status="failure",
            entities=(),
            pages=(),
            errors=(Problem(letter.reason, letter.stage, letter.message, letter.retryable, letter.page),),
        )
        for letter in letters
    ]
    if answers:
        _write(answers, out, shards.part_name(f"dead {letter.source} {letter.page}" for letter in letters))
    return len(answers)


def _write(answers: list[Answer], out: str, name: str) -> None:
    write_answers(codec.answers_table(answers), [answer.to_json() for answer in answers], out, name)


def write_answers(table: pa.Table, lines: Sequence[Mapping[str, Any]], out: str, name: str) -> None:
    """Write a shard of answers, both as a table and as lines of JSON."""
    shards.write(table, sources.join(out, _TABLES), name)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    shards.write_bytes(text.encode(), sources.join(out, _LINES), name.replace(".parquet", ".jsonl"))


def write_fields(documents: Sequence[DocumentFields], out: str) -> int:
    """Write a shard of the documents' fields. Returns the number of values."""
    table = codec.fields_table(documents)
    if table.num_rows:
        name = shards.part_name(document.doc_id for document in documents)
        shards.write(table, sources.join(out, _FIELDS), name)
    return table.num_rows
