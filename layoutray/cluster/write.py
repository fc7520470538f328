"""Bulk writing over the cluster: whole documents of PAGES in, TEXTS shards and JSON lines out, and FIELDS where those are written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray.data

from layoutray.answers import DocumentFields
from layoutray.cluster.connect import allow_slow_batches
from layoutray.cluster.predict import check_no_answers, commit
from layoutray.cluster.progress import Progress, follow, ignore_progress
from layoutray.cluster.replicas import ONE_REPLICA, Replicas
from layoutray.document import Document, Page
from layoutray.generation import Text, TextGenerator
from layoutray.prepare.output import Output
from layoutray.prepare.whole_documents import whole_documents
from layoutray.store import codec, shards, sources
from layoutray.store.schema import TEXTS
from layoutray.tasks.generate_fields import written_fields

_DOCUMENTS_PER_SHARD = 32
_COUNTS = ("failed", "cut", "fields", "without_fields")
"""Of what became of the documents of a shard."""


@dataclass(frozen=True)
class WrittenTexts:
    """What came out: every document that went in has a text or has failed.

    Attributes:
        failed: documents that could not be opened, or have no words.
        cut: documents of which the model has read but the beginning.
        fields: values of fields, of all documents together; 0 of a model that writes no fields, as is `without_fields`.
        without_fields: documents that have words, and about which no value was written.
    """

    documents: int
    failed: int
    cut: int
    fields: int = 0
    without_fields: int = 0


def write(
    checkpoint: str | Path,
    ingested: str,
    out: str,
    *,
    replicas: Replicas = ONE_REPLICA,
    beams: int = 1,
    progress: Callable[[Progress], None] = ignore_progress,
) -> WrittenTexts:
    """Write about every document that `ingest` has brought to `ingested`, as `out/parquet` and `out/jsonl`, one row a document.

    Documents that could not be opened or have no words have a row too: with status `failure` and no text. The fields that a model of
    `generate_fields` writes go to `out/fields`, one row a value.

    Raises:
        InputError: when `out` holds answers already.
        CheckpointError: when `checkpoint` is none, or not of a model that writes.
    """
    loaded = TextGenerator.load(checkpoint, beams)  # speaks up before any worker starts
    check_no_answers(out)
    output = Output(ingested)
    ids = sorted(document.doc_id for document in output.documents_there())
    receipts: list[dict[str, Any]] = []
    if ids:
        parts = [
            pa.table({"doc_id": ids[at : at + _DOCUMENTS_PER_SHARD]}) for at in range(0, len(ids), _DOCUMENTS_PER_SHARD)
        ]
        documents = ray.data.from_blocks(parts)
        allow_slow_batches(documents)
        written = documents.map_batches(
            _WriteShard,
            fn_constructor_args=(sources.absolute(str(checkpoint)), ingested, out, beams),
            batch_size=None,
            batch_format="pyarrow",
            **replicas.placement(),
        )
        receipts = follow(written, Progress("write", 0, len(ids)), itemgetter("documents"), progress)
    unopened = [letter for letter in output.letters() if letter.page is None]
    if unopened:
        _commit([_row(loaded, letter.doc_id, letter.source, Text("", 0, 0)) for letter in unopened], out)
    counts = {name: sum(row[name] for row in receipts) for name in _COUNTS}
    return WrittenTexts(len(ids) + len(unopened), counts.pop("failed") + len(unopened), **counts)


class _WriteShard:
    """Writes about some documents, and its shard under a name made from them."""

    def __init__(self, checkpoint: str, ingested: str, out: str, beams: int) -> None:
        self._generator = TextGenerator.load(checkpoint, beams)
        self._pages = Output(ingested).pages
        self._out = out

    def __call__(self, ids: pa.Table) -> pa.Table:
        found = list(whole_documents([self._pages], ids["doc_id"].to_pylist()))
        texts = self._generator.write([pages for _, pages in found])
        rows = [
            _row(self._generator, document.doc_id, document.source, text)
            for (document, _), text in zip(found, texts, strict=True)
        ]
        _commit(rows, self._out)
        failed, cut = sum(not text.tokens for text in texts), sum(text.tokens_read < text.tokens for text in texts)
        values, without = self._write_fields(found, texts) if self._generator.fields else (0, 0)
        counts = zip(_COUNTS, (failed, cut, values, without), strict=True)
        return pa.table({"documents": [len(found)], **{name: [count] for name, count in counts}})

    def _write_fields(self, documents: Sequence[tuple[Document, list[Page]]], texts: Sequence[Text]) -> tuple[int, int]:
        """How many values there are, and how many documents that have words have none."""
        made_by = (self._generator.model_id, self._generator.model_version)
        answered = [
            DocumentFields(
                document.doc_id, document.source, *made_by, written_fields(text.lines, pages, self._generator.fields)
            )
            for (document, pages), text in zip(documents, texts, strict=True)
            if text.tokens
        ]
        table = codec.fields_table(answered)
        if table.num_rows:
            shards.write(
                table, sources.join(self._out, "fields"), shards.part_name(document.doc_id for document in answered)
            )
        return table.num_rows, sum(not document.fields for document in answered)


def _row(generator: TextGenerator, doc_id: str, source: str, text: Text) -> dict[str, Any]:
    made_by = {"model_id": generator.model_id, "model_version": generator.model_version}
    said = {"text": text.text, "tokens": text.tokens, "tokens_read": text.tokens_read}
    return {"doc_id": doc_id, "source": source, "status": "success" if text.tokens else "failure", **made_by, **said}


def _commit(rows: list[dict[str, Any]], out: str) -> None:
    commit(
        pa.Table.from_pylist(rows, schema=TEXTS),
        rows,
        out,
        shards.part_name(f"{row['doc_id']} {row['source']}" for row in rows),
    )
