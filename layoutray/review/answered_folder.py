"""The documents of a folder of answers, as `predict` writes it, with the words of their pages."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.review.documents import AnsweredDocument
from layoutray.review.values import Prediction, packet_values, predicted_values
from layoutray.store import shards, sources
from layoutray.store.answer_set import AnswerSet
from layoutray.store.data_set import DataSet
from layoutray.store.schema import FIELDS

_FIELD_COLUMNS = ("name", "value", "content", "confidence", "accepted")


def answered_documents(answers: str, pages: str, ranking: str = "") -> Iterator[AnsweredDocument]:
    """The documents that could be read, with their answers.

    Args:
        answers: folder written by `predict`.
        pages: folder of the data set that was answered.
        ranking: CSV file of `select` or `drift`, which says in which order documents are looked at; empty for none.

    Raises:
        InputError: when `answers` holds no answers, or `ranking` is not a file of `select`.
        SchemaError: when `pages` is not a data set.
    """
    ranks: dict[str, int] = {}
    if ranking:
        rows = list(csv.DictReader(io.StringIO(sources.read_bytes(sources.absolute(ranking)).decode())))
        if not rows or not {"rank", "doc_id"} <= rows[0].keys():
            raise InputError(f"{ranking} has no columns rank and doc_id; give the review.csv of `layoutray select`")
        ranks = {row["doc_id"]: int(row["rank"]) for row in rows}
    lines, fields, packets = _lines(answers), _fields(answers), _packets(answers)
    pages_of: dict[str, list[Page]] = defaultdict(list)
    for page in DataSet(pages).read_pages():
        if page.doc_id in lines:
            pages_of[page.doc_id].append(page)
    for doc_id, unordered in pages_of.items():
        answered = lines[doc_id]
        # Models of pages have no records, and answers of earlier versions no candidates.
        found = [
            [one for line in answered for one in line.get(key, ())] for key in ("entities", "records", "candidates")
        ]
        yield AnsweredDocument(
            doc_id=doc_id,
            source=unordered[0].source,
            model_id=answered[0]["model_id"],
            model_version=answered[0]["model_version"],
            pages=tuple(sorted(unordered, key=lambda page: page.number)),
            said=packets[doc_id] if doc_id in packets else predicted_values(fields[doc_id], *found),
            rank=ranks.get(doc_id),
        )


def _lines(folder: str) -> Mapping[str, list[dict[str, Any]]]:
    """The answers of the pages of each document, in order."""
    uris = [uri for uri in sources.list_files(AnswerSet(folder).lines) if uri.endswith(".jsonl")]
    if not uris:
        raise InputError(f"{folder} holds no jsonl/*.jsonl; give a folder written by `layoutray predict`")
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for answer in (json.loads(line) for uri in uris for line in sources.read_bytes(uri).splitlines()):
        if answer["pages"]:
            found[answer["doc_id"]].append(answer)
    for answers in found.values():
        answers.sort(key=lambda answer: answer["pages"][0]["page_number"])
    return found


def _packets(folder: str) -> Mapping[str, tuple[Prediction, ...]]:
    """The documents of each packet that a model of pages has answered."""
    uri = AnswerSet(folder).packets
    lines = sources.read_bytes(uri).splitlines() if sources.exists(uri) else ()
    return {packet["doc_id"]: packet_values(packet["documents"]) for packet in map(json.loads, lines)}


def _fields(folder: str) -> Mapping[str, list[dict[str, Any]]]:
    """The fields of each document, in the structure of the public JSON."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if shards.shards(AnswerSet(folder).fields):
        for table in shards.scan(AnswerSet(folder).fields, FIELDS):
            for row in table.to_pylist():
                regions = [{"page_number": row["page"], "polygon": polygon} for polygon in row["polygons"]]
                plain = {name: row[name] for name in _FIELD_COLUMNS}
                found[row["doc_id"]].append({**plain, "bounding_regions": regions})
    return found
