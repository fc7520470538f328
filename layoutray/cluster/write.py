"""Bulk text generation on the cluster: PAGES to TEXTS shards, JSON lines, and FIELDS of generated fields."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray.data

from layoutray.answers import DocumentFields
from layoutray.checkpoint import Fetch
from layoutray.cluster import gpus
from layoutray.cluster.connect import allow_slow_batches
from layoutray.cluster.placement import ONE_REPLICA, Replicas
from layoutray.cluster.predict import check_no_answers, write_answers, write_fields
from layoutray.cluster.progress import Progress, follow, ignore_progress
from layoutray.devices import CPU
from layoutray.document import Document, Page
from layoutray.generation import Text, TextGenerator
from layoutray.prepare.whole_documents import whole_documents
from layoutray.store import shards, sources
from layoutray.store.data_set import DataSet
from layoutray.store.schema import TEXTS
from layoutray.tasks.generate_fields import written_fields

_DOCUMENTS_PER_SHARD = 32
_COUNTS = ("failed", "cut", "fields", "without_fields")
"""Counts that a worker reports of the documents of a shard; see `WrittenTexts`."""


@dataclass(frozen=True)
class WrittenTexts:
    """Counts of the output. Every document of the input has a text or has failed.

    Attributes:
        failed: documents that cannot be opened, or have no words.
        cut: documents of which the model has read only the beginning.
        fields: values of fields, of all documents; 0 for a model that does not generate fields.
        without_fields: documents with words for which no value was generated; 0 for a model that does not
            generate fields.
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
    """Generate a text for every document of the data set `ingested`, as `out/parquet` and `out/jsonl`, one row each.

    Documents that cannot be opened or have no words have a row with status `failure` and no text. The fields that a
    model of the task `generate_fields` generates are written to `out/fields`, one row per value.

    Args:
        beams: beam width (1 = greedy).

    Raises:
        InputError: if `out` already contains answers.
        SchemaError: if `ingested` is not a data set, or has no documents.
        CheckpointError: if `checkpoint` is not a checkpoint of a model that generates texts.
    """
    generator = TextGenerator.load(replicas.fetch(str(checkpoint)), beams, CPU)  # fails before any worker starts
    check_no_answers(out)
    data_set = DataSet(ingested)
    ids = sorted(document.doc_id for document in data_set.read_documents())
    receipts: list[dict[str, Any]] = []
    if ids:
        starts = range(0, len(ids), _DOCUMENTS_PER_SHARD)
        batches = ray.data.from_blocks(
            [pa.table({"doc_ids": [ids[start : start + _DOCUMENTS_PER_SHARD]]}) for start in starts]
        )
        allow_slow_batches(batches)
        written = batches.map_batches(
            _WriteShard,
            fn_constructor_args=(sources.absolute(str(checkpoint)), replicas.fetch, data_set, out, beams),
            batch_size=1,
            batch_format="pyarrow",
            **replicas.placement(),
        )
        receipts = follow(written, Progress("write", 0, len(ids)), itemgetter("documents"), progress)
    unopened = [letter for letter in data_set.read_dead_letters() if letter.page is None]
    if unopened:
        _write_rows([_row(generator, letter.doc_id, letter.source, Text("", 0, 0)) for letter in unopened], out)
    counts = {name: sum(receipt[name] for receipt in receipts) for name in _COUNTS}
    return WrittenTexts(len(ids) + len(unopened), counts.pop("failed") + len(unopened), **counts)


class _WriteShard:
    """Generates texts for a batch of documents and writes its shards under names made from the documents."""

    def __init__(self, checkpoint: str, fetch: Fetch, data_set: DataSet, out: str, beams: int) -> None:
        self._generator = TextGenerator.load(fetch(checkpoint), beams, gpus.assigned_device())
        self._data_set = data_set
        self._out = out

    def __call__(self, batch: pa.Table) -> pa.Table:
        documents = list(whole_documents([self._data_set], batch["doc_ids"][0].as_py()))
        texts = self._generator.write([pages for _, pages in documents])
        rows = [
            _row(self._generator, document.doc_id, document.source, text)
            for (document, _), text in zip(documents, texts, strict=True)
        ]
        _write_rows(rows, self._out)
        failed = sum(not text.tokens for text in texts)
        cut = sum(text.tokens_read < text.tokens for text in texts)
        values, without_values = self._write_fields(documents, texts) if self._generator.fields else (0, 0)
        counts = dict(zip(_COUNTS, ([failed], [cut], [values], [without_values]), strict=True))
        return pa.table({"documents": [len(documents)], **counts})

    def _write_fields(self, documents: Sequence[tuple[Document, list[Page]]], texts: Sequence[Text]) -> tuple[int, int]:
        """Number of values, and of documents with words but without values."""
        generator = self._generator
        answered = [
            DocumentFields(
                document.doc_id,
                document.source,
                generator.model_id,
                generator.model_version,
                written_fields(text.lines, pages, generator.fields),
            )
            for (document, pages), text in zip(documents, texts, strict=True)
            if text.tokens
        ]
        return write_fields(answered, self._out), sum(not document.fields for document in answered)


def _row(generator: TextGenerator, doc_id: str, source: str, text: Text) -> dict[str, Any]:
    return {
        "doc_id": doc_id,
        "source": source,
        "status": "success" if text.tokens else "failure",
        "model_id": generator.model_id,
        "model_version": generator.model_version,
        "text": text.text,
        "tokens": text.tokens,
        "tokens_read": text.tokens_read,
    }


def _write_rows(rows: list[dict[str, Any]], out: str) -> None:
    name = shards.part_name(f"{row['doc_id']} {row['source']}" for row in rows)
    write_answers(pa.Table.from_pylist(rows, schema=TEXTS), rows, out, name)
