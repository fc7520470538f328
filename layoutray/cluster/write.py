"""Bulk text generation on the cluster: PAGES to TEXTS shards, JSON lines, and FIELDS of generated fields."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import ray.data

from layoutray.cluster import gpus
from layoutray.cluster.answer_job import Answerer
from layoutray.cluster.placement import Replicas
from layoutray.document import Document, Page
from layoutray.document.answers import DocumentFields
from layoutray.inference.generation import Text, TextGenerator
from layoutray.prepare.answer_plan import Unit, document_units, failures
from layoutray.store import codec, shards
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import FIELDS, TEXTS
from layoutray.tasks.generate_fields import written_fields


@dataclass(frozen=True, kw_only=True)
class WrittenTexts:
    """Counts of the output: every document of the data set has a row, once.

    Attributes:
        answered: documents with a text.
        failed: documents that cannot be opened, or have no words.
        cut: documents of which the model has read only the beginning.
        fields: values of fields, of all documents; 0 for a model that does not generate fields.
        without_fields: documents with a text but no value; 0 for a model that does not generate fields.
        new: documents that this run has read. Earlier runs have read the others.
    """

    answered: int
    failed: int
    cut: int
    fields: int
    without_fields: int
    new: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAnswerer(Answerer):
    """A job with a model that generates texts, which may be those of fields."""

    has_fields: bool

    def units(self) -> Iterator[Unit]:
        return document_units(self.data_set)

    def failures(self) -> Iterator[tuple[str, Sequence[DeadLetter]]]:
        return failures(self.data_set, of_documents=True)

    def answer(self, units: ray.data.Dataset, replicas: Replicas) -> ray.data.Dataset:
        return units.map_batches(
            _WriteShard, fn_constructor_args=(self,), batch_size=1, batch_format="pyarrow", **replicas.placement()
        )

    def answer_failures(self, letters: Sequence[DeadLetter], name: str) -> None:
        self.write_texts([(letter.doc_id, letter.source, Text("", 0, 0)) for letter in letters], name)

    def write_texts(self, texts: Sequence[tuple[str, str, Text]], name: str) -> None:
        """Write a shard of texts, each with the id and the source of its document."""
        rows = [
            {
                "doc_id": doc_id,
                "source": source,
                "status": "success" if text.tokens else "failure",
                "model_id": self.identity.model_id,
                "model_version": self.identity.model_version,
                "text": text.text,
                "tokens": text.tokens,
                "tokens_read": text.tokens_read,
            }
            for doc_id, source, text in texts
        ]
        self.answers.write(pa.Table.from_pylist(rows, schema=TEXTS), rows, name)

    def count(self) -> Mapping[str, int]:
        counts: dict[str, int] = dict.fromkeys(("answered", "failed", "cut", "fields", "without_fields"), 0)
        for _, table in shards.read_each(self.answers.tables, TEXTS, ["status", "tokens", "tokens_read"]):
            answered = table.filter(pc.field("status") == "success").num_rows
            counts["answered"] += answered
            counts["failed"] += table.num_rows - answered
            counts["cut"] += table.filter(pc.field("tokens_read") < pc.field("tokens")).num_rows
        if self.has_fields:
            counts["without_fields"] = counts["answered"]
            for _, table in shards.read_each(self.answers.fields, FIELDS, ["doc_id"]):
                counts["fields"] += table.num_rows
                counts["without_fields"] -= len(table["doc_id"].unique())
        return counts


class _WriteShard:
    """Generates texts for the documents of a unit and writes its shards."""

    def __init__(self, answerer: TextAnswerer) -> None:
        self._answerer = answerer
        self._generator = TextGenerator.load(
            answerer.fetch(answerer.checkpoint), answerer.identity.beams, gpus.assigned_device()
        )

    def __call__(self, batch: pa.Table) -> pa.Table:
        (unit,) = batch.to_pylist()
        documents = [*codec.documents_of(shards.read_rows(unit["shard"], unit["start"], unit["rows"]))]
        pages = _pages_of(documents, unit["pages"])
        texts = self._generator.write(pages)
        if self._generator.fields:
            fields = [
                DocumentFields(
                    doc_id=document.doc_id,
                    source=document.source,
                    model_id=self._answerer.identity.model_id,
                    model_version=self._answerer.identity.model_version,
                    fields=written_fields(text.lines, of_document, self._generator.fields),
                )
                for document, of_document, text in zip(documents, pages, texts, strict=True)
                if text.tokens
            ]
            self._answerer.answers.write_fields(fields, unit["name"])
        named = [(document.doc_id, document.source, text) for document, text in zip(documents, texts, strict=True)]
        self._answerer.write_texts(named, unit["name"])
        return pa.table({"rows": [len(documents)]})


def _pages_of(documents: Sequence[Document], uris: Sequence[str]) -> list[list[Page]]:
    """The readable pages of each document, in order."""
    wanted = pc.field("doc_id").isin([document.doc_id for document in documents])
    pages: dict[str, list[Page]] = defaultdict(list)
    for uri in uris:
        for page in codec.pages_of(shards.read_shard(uri).filter(wanted)):
            pages[page.doc_id].append(page)
    return [sorted(pages[document.doc_id], key=lambda page: page.number) for document in documents]
