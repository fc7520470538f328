"""`layoutray select`: the documents to label next, by what their labels would teach the model of a checkpoint."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.label_studio_tasks import LabelStudioOptions, suggestions, write_tasks
from layoutray.cli.shared.options import CheckpointOptions, option
from layoutray.cli.shared.output_folder import new_folder
from layoutray.document import Page
from layoutray.document.tags import OUTSIDE
from layoutray.errors import InputError
from layoutray.formats.spreadsheet import csv_file
from layoutray.store import codec, shards
from layoutray.store.answer_set import pages_folder
from layoutray.store.data_set import DataSet

REVIEW = "review.csv"
"""File with the chosen documents, the first to label first."""
_COLUMNS = ("rank", "doc_id", "source", "words", "uncertainty", "similarity", "why")


@dataclass(frozen=True, kw_only=True)
class SelectOptions(LabelStudioOptions, CheckpointOptions):
    """Options of `layoutray select`."""

    out: str = option("--out", required=True, help=f"new folder or s3:// address for {REVIEW}, and for tasks")
    count: int = option("--count", type=checked.positive, required=True, help="number of documents to choose")
    labelled: Sequence[str] = option(
        "--labelled",
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="ingested documents that are labelled already: they are not chosen, and similar ones are chosen later",
    )
    label_studio: bool = option(
        "--label-studio",
        action="store_true",
        help="also write the pages of the documents as tasks, with the model's answers as suggestions",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("select", arguments, SelectOptions)
    # Imported here because PyTorch takes seconds, for which `--help` shall not wait.
    from layoutray.active_learning.choice import choose
    from layoutray.active_learning.reading import read_documents
    from layoutray.inference.extractor import Extractor
    from layoutray.tracking import registered

    with new_folder(chosen.out) as out:
        checkpoint, version = registered.checkpoint_folder(chosen.checkpoint, chosen.tracking_uri)
        extractor = Extractor.load(checkpoint, version=version)
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
            write_tasks(pages, suggestions(answers), replace(chosen, labels=labels))
        rows: list[Sequence[Any]] = [_COLUMNS]
        for rank, one in enumerate(documents, start=1):
            read = one.document
            why = "; ".join(  # the words whose labels are least certain, each with its label
                f"{word.text} {'no entity' if word.label == OUTSIDE else word.label} {word.confidence:.2f}"
                for word in read.doubts
            )
            numbers = (read.words, f"{read.uncertainty:.3f}", f"{one.similarity:.3f}")
            rows.append((rank, read.doc_id, read.source, *numbers, why))
        shards.write_bytes(csv_file(rows), out, REVIEW)
        terminal.say(
            f"{len(documents)} of {len(candidates)} documents, the first to label first: {chosen.out}/{REVIEW}"
        )
    return 0


def _batches(folder: str, rows: pc.Expression | None = None) -> Iterator[list[Page]]:
    for table in DataSet(folder).scan_pages(filter=rows):
        yield list(codec.pages_of(table))


def _is_one_of(doc_ids: Sequence[str]) -> pc.Expression:
    return pc.field("doc_id").isin(pa.array(doc_ids, pa.string()))
