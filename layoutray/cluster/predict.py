"""Bulk extraction over the cluster: PAGES shards in, ANSWERS shards and JSON lines out, and FIELDS of whole documents."""

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
from layoutray.cluster.connect import allow_slow_batches
from layoutray.cluster.progress import Progress, follow, ignore_progress
from layoutray.cluster.replicas import ONE_REPLICA, Replicas
from layoutray.errors import InputError
from layoutray.inference import Extractor
from layoutray.store import codec, shards, sources
from layoutray.store.schema import ANSWERS, DEAD_LETTERS, PAGES
from layoutray.tasks.field_answers import field_answers

_PAGES_PER_SHARD = 128
_SHARDS_PER_REPLICA = 4
"""At least, where there are few pages: no replica then waits long for the last."""
_DOCUMENTS_PER_SHARD = 4096
_PARTS = ("parquet", "jsonl", "fields")
"""Folders of what is written."""


@dataclass(frozen=True)
class Prediction:
    """What came out: every page that went in is either answered or failed.

    Attributes:
        fields: values of fields, of all documents together; 0 of a model that looks for no fields, as is `without_fields`.
        without_fields: documents that could be read, at least in part, and for which no value was found.
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
    """Answer every page that `ingest` has written to `ingested`, as `out/parquet` and `out/jsonl`, one row of JSON a page.

    Dead letters are answered too: with status `failure` and what went wrong. Where the model looks for fields of documents, they are put
    together from the answers of all pages, as `out/fields`: one process sorts the entities that are of fields, which takes memory for them.

    Raises:
        InputError: when `out` holds answers already.
        CheckpointError: when `checkpoint` is none, or not of a model that finds entities.
    """
    loaded = Extractor.load(checkpoint)  # speaks up before any worker starts
    check_no_answers(out)
    # Speaks up about foreign tables before any worker starts.
    lengths = {uri: ids.num_rows for uri, ids in shards.read_each(sources.join(ingested, "pages"), PAGES, ["page_id"])}
    count = sum(lengths.values())
    receipts: list[dict[str, Any]] = []
    if count:
        together = min(_PAGES_PER_SHARD, math.ceil(count / (_SHARDS_PER_REPLICA * replicas.count)))
        pages = ray.data.from_blocks([pa.Table.from_pylist(runs) for runs in _portions(lengths, together)])
        allow_slow_batches(pages)
        answered = pages.map_batches(
            _AnswerShard,
            fn_constructor_args=(sources.absolute(str(checkpoint)), out),
            batch_size=None,
            batch_format="pyarrow",
            **replicas.placement(),
        )
        receipts = follow(answered, Progress("answer", 0, count), itemgetter("pages"), progress)
    fields, without = _answer_fields(loaded, out) if receipts and loaded.fields else (0, 0)
    failed = _answer_dead_letters(loaded, ingested, out)
    return Prediction(
        sum(row["pages"] for row in receipts) + failed,
        failed,
        sum(row["entities"] for row in receipts),
        fields,
        without,
    )


def check_no_answers(out: str) -> None:
    """Raise InputError when `out` holds answers."""
    if any(any(sources.list_files(sources.join(out, part))) for part in _PARTS):
        raise InputError(f"{out} holds answers already; delete its folders {', '.join(_PARTS)}, or give another --out")


def _portions(lengths: Mapping[str, int], together: int) -> Iterator[list[dict[str, Any]]]:
    """The rows of shards of these lengths in portions of so many: runs of rows that follow one another, each with its shard."""
    portion: list[dict[str, Any]] = []
    room = together
    for uri, length in lengths.items():
        start = 0
        while start < length:
            rows = min(room, length - start)
            portion.append({"shard": uri, "start": start, "rows": rows})
            start, room = start + rows, room - rows
            if not room:
                yield portion
                portion, room = [], together
    if portion:
        yield portion


class _AnswerShard:
    """Answers the pages of a portion and writes its shard under a name made from the pages."""

    def __init__(self, checkpoint: str, out: str) -> None:
        self._extractor = Extractor.load(checkpoint)
        self._out = out

    def __call__(self, portion: pa.Table) -> pa.Table:
        pages = pa.concat_tables(
            shards.read_shard(run["shard"]).slice(run["start"], run["rows"]) for run in portion.to_pylist()
        )
        answers = self._extractor.answers(list(codec.pages_of(pages)))
        _write(answers, self._out, shards.part_name(pages["page_id"].to_pylist()))
        return pa.table({"pages": [len(answers)], "entities": [sum(len(answer.entities) for answer in answers)]})


def _answer_fields(loaded: Extractor, out: str) -> tuple[int, int]:
    """Write the fields of all documents whose pages are answered; how many values there are, and how many documents have none."""
    answers = sources.join(out, "parquet")
    entities = shards.read(answers, ANSWERS, filter=pc.field("type").isin(list(loaded.fields)))
    documents = len(shards.read(answers, ANSWERS, ["doc_id"])["doc_id"].unique())
    # A page's entities are in one shard, in their order, which the sort keeps.
    answered = _document_fields(loaded, entities.sort_by([("doc_id", "ascending"), ("page", "ascending")]))
    values = found = 0
    while some := list(islice(answered, _DOCUMENTS_PER_SHARD)):
        table = codec.fields_table(some)
        shards.write(table, sources.join(out, "fields"), shards.part_name(document.doc_id for document in some))
        values, found = values + table.num_rows, found + len(some)
    return values, documents - found


def _document_fields(loaded: Extractor, entities: pa.Table) -> Iterator[DocumentFields]:
    """The fields of each document of ANSWERS rows in order of documents and pages; documents without values are left out."""
    rows = (row for batch in entities.to_batches(max_chunksize=_PAGES_PER_SHARD) for row in batch.to_pylist())
    for doc_id, group in groupby(rows, key=itemgetter("doc_id")):
        found = list(group)
        if fields := field_answers(map(codec.entity_of, found), loaded.fields):
            yield DocumentFields(doc_id, found[0]["source"], loaded.model_id, loaded.model_version, fields)


def _answer_dead_letters(loaded: Extractor, ingested: str, out: str) -> int:
    folder = sources.join(ingested, "dead_letters")
    if not shards.shards(folder):
        return 0
    letters = list(codec.dead_letters_of(shards.read(folder, DEAD_LETTERS)))
    answers = [
        Answer(
            doc_id=letter.doc_id,
            source=letter.source,
            model_id=loaded.model_id,
            model_version=loaded.model_version,
            status="failure",
            entities=(),
            pages=(),
            errors=(Problem(letter.reason, letter.stage, letter.message, letter.retryable, letter.page),),
        )
        for letter in letters
    ]
    _write(answers, out, shards.part_name(f"dead {letter.source} {letter.page}" for letter in letters))
    return len(letters)


def _write(answers: list[Answer], out: str, name: str) -> None:
    commit(codec.answers_table(answers), [answer.to_json() for answer in answers], out, name)


def commit(table: pa.Table, lines: Sequence[Mapping[str, Any]], out: str, name: str) -> None:
    """Write a shard of answers both as a table and as lines of JSON."""
    shards.write(table, sources.join(out, "parquet"), name)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    shards.write_bytes(text.encode(), sources.join(out, "jsonl"), name.replace(".parquet", ".jsonl"))
