"""`layoutray select`: the documents to label next, by what their labels would teach the model of a checkpoint."""

import argparse
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from layoutray import checkpoint, devices
from layoutray.active_learning.choice import ChosenDocument, choose
from layoutray.active_learning.reading import read_documents
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.label_studio_tasks import (
    LabelStudioOptions,
    add_label_studio_options,
    suggestions,
    write_tasks,
)
from layoutray.document import Page
from layoutray.document.tags import OUTSIDE
from layoutray.errors import InputError
from layoutray.inference.extractor import Extractor
from layoutray.store import codec, shards
from layoutray.store.answer_set import pages_folder
from layoutray.store.data_set import DataSet
from layoutray.tracking import registered

REVIEW = "review.csv"
"""File with the chosen documents, the first to label first."""
_COLUMNS = ("rank", "doc_id", "source", "words", "uncertainty", "similarity", "why")


@dataclass(frozen=True, kw_only=True)
class SelectOptions(LabelStudioOptions):
    """Options of `layoutray select`.

    Attributes:
        pages: folder of the documents to choose from.
        labelled: folders of documents that are labelled already.
        label_studio: whether the pages of the documents are also written as tasks.
    """

    checkpoint: str
    pages: str
    count: int
    labelled: Sequence[str]
    label_studio: bool
    tracking_uri: str


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.parse(_parser(), arguments, SelectOptions)
    out = options.require_empty(chosen.out)
    extractor = _extractor(chosen)
    labelled = [read for folder in chosen.labelled for read in read_documents(extractor, _batches(folder))]
    folder = pages_folder(chosen.pages)
    candidates = read_documents(extractor, _batches(folder, ~_is_one_of([read.doc_id for read in labelled])))
    if chosen.count > len(candidates):
        raise InputError(
            f"--count is {chosen.count}, but {chosen.pages} has {len(candidates)} documents with words "
            "that are not in --labelled; give a lower --count, or ingest more documents"
        )
    documents = choose(candidates, labelled, chosen.count)
    if chosen.label_studio:
        ranks = {one.document.doc_id: rank for rank, one in enumerate(documents)}
        pages = sorted(
            DataSet(folder).read_pages(_is_one_of([*ranks])), key=lambda page: (ranks[page.doc_id], page.number)
        )
        labels = (*extractor.entity_types, *chosen.labels)
        answers = (answer.to_json() for answer in extractor.answers(pages))
        write_tasks(chosen.pages, pages, suggestions(answers), replace(chosen, labels=labels))
    shards.write_bytes(_review(documents), out, REVIEW)
    terminal.say(f"{len(documents)} of {len(candidates)} documents, the first to label first: {chosen.out}/{REVIEW}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = options.parser("select")
    options.add_checkpoint(parser)
    parser.add_argument("pages", help="folder written by `layoutray ingest`, or by `layoutray predict` from files")
    parser.add_argument("--count", type=options.positive, required=True, help="number of documents to choose")
    parser.add_argument("--out", required=True, help=f"new folder or s3:// address for {REVIEW}, and for tasks")
    parser.add_argument(
        "--labelled",
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="ingested documents that are labelled already: they are not chosen, and similar ones are chosen later",
    )
    parser.add_argument(
        "--label-studio",
        action="store_true",
        help="also write the pages of the documents as tasks, with the model's answers as suggestions",
    )
    add_label_studio_options(parser)
    options.add_tracking_uri(parser)
    return parser


def _extractor(chosen: SelectOptions) -> Extractor:
    folder, version = registered.checkpoint_folder(chosen.checkpoint, chosen.tracking_uri)
    loaded = checkpoint.load(folder)
    extractor = Extractor(loaded, loaded.recipe.name, devices.first_visible())
    extractor.model_version = version or extractor.model_version
    return extractor


def _batches(folder: str, rows: pc.Expression | None = None) -> Iterator[list[Page]]:
    for table in DataSet(folder).scan_pages(filter=rows):
        yield list(codec.pages_of(table))


def _is_one_of(doc_ids: Sequence[str]) -> pc.Expression:
    return pc.field("doc_id").isin(pa.array(doc_ids, pa.string()))


def _review(documents: Sequence[ChosenDocument]) -> bytes:
    """The documents as CSV with a header; `why` has the words whose labels are least certain, each with its label."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for rank, one in enumerate(documents, start=1):
        read = one.document
        why = "; ".join(
            f"{word.text} {'no entity' if word.label == OUTSIDE else word.label} {word.confidence:.2f}"
            for word in read.doubts
        )
        numbers = (read.words, f"{read.uncertainty:.3f}", f"{one.similarity:.3f}")
        writer.writerow((rank, read.doc_id, read.source, *numbers, why))
    return text.getvalue().encode()
