"""Bulk writing over the cluster: whole documents of PAGES in, TEXTS shards and JSON lines out."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray.data
from ray.data import ActorPoolStrategy

from layoutray.cluster.predict import check_no_answers, commit
from layoutray.generation import Text, TextGenerator
from layoutray.prepare.output import Output
from layoutray.prepare.whole_documents import whole_documents
from layoutray.store import shards, sources
from layoutray.store.schema import TEXTS

_DOCUMENTS_PER_SHARD = 32


@dataclass(frozen=True)
class WrittenTexts:
    """What came out: every document that went in has a text or has failed.

    Attributes:
        failed: documents that could not be opened, or have no words.
        cut: documents of which the model has read but the beginning.
    """

    documents: int
    failed: int
    cut: int


def write(checkpoint: str | Path, ingested: str, out: str, *, workers: int = 1, gpus: float = 0, beams: int = 1) -> WrittenTexts:
    """Write about every document that `ingest` has brought to `ingested`, as `out/parquet` and `out/jsonl`, one row a document.

    Documents that could not be opened or have no words have a row too: with status `failure` and no text.

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
        parts = [pa.table({"doc_id": ids[at : at + _DOCUMENTS_PER_SHARD]}) for at in range(0, len(ids), _DOCUMENTS_PER_SHARD)]
        written = ray.data.from_arrow(parts).map_batches(
            _WriteShard,
            fn_constructor_args=(sources.absolute(str(checkpoint)), ingested, out, beams),
            batch_size=None,
            batch_format="pyarrow",
            num_cpus=0.5,
            num_gpus=gpus or None,
            compute=ActorPoolStrategy(size=workers),
        )
        receipts = written.take_all()
    unopened = [letter for letter in output.letters() if letter.page is None]
    if unopened:
        _commit([_row(loaded, letter.doc_id, letter.source, Text("", 0, 0)) for letter in unopened], out)
    failed = sum(row["failed"] for row in receipts) + len(unopened)
    return WrittenTexts(len(ids) + len(unopened), failed, sum(row["cut"] for row in receipts))


class _WriteShard:
    """Writes about some documents, and its shard under a name made from them."""

    def __init__(self, checkpoint: str, ingested: str, out: str, beams: int) -> None:
        self._generator = TextGenerator.load(checkpoint, beams)
        self._pages = Output(ingested).pages
        self._out = out

    def __call__(self, ids: pa.Table) -> pa.Table:
        found = list(whole_documents([self._pages], ids["doc_id"].to_pylist()))
        texts = self._generator.write([pages for _, pages in found])
        rows = [_row(self._generator, document.doc_id, document.source, text) for (document, _), text in zip(found, texts, strict=True)]
        _commit(rows, self._out)
        cut = sum(text.tokens_read < text.tokens for text in texts)
        return pa.table({"failed": [sum(not text.tokens for text in texts)], "cut": [cut]})


def _row(generator: TextGenerator, doc_id: str, source: str, text: Text) -> dict[str, Any]:
    made_by = {"model_id": generator.model_id, "model_version": generator.model_version}
    return {"doc_id": doc_id, "source": source, "status": "success" if text.tokens else "failure", **made_by, **asdict(text)}


def _commit(rows: list[dict[str, Any]], out: str) -> None:
    commit(pa.Table.from_pylist(rows, schema=TEXTS), rows, out, shards.part_name(f"{row['doc_id']} {row['source']}" for row in rows))
