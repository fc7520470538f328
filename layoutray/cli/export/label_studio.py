"""`layoutray export label-studio`: pages as Label Studio tasks with suggestions, and the interface to label them in.

Suggestions are the pages' own labels, or the answers of a checkpoint with their confidences. `layoutray ingest
ingest-label-studio` reads what people made of the tasks, exported by Label Studio as JSON.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from layoutray.cli.shared import options
from layoutray.cli.shared.label_studio_tasks import LabelStudioOptions, Suggestions, suggestions, write_tasks
from layoutray.cli.shared.options import option
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.store import codec, shards, sources
from layoutray.store.answer_set import pages_folder
from layoutray.store.data_set import DataSet
from layoutray.store.output_lock import working_on
from layoutray.store.schema import PAGES
from layoutray.store.spilled import JSON, SpilledDict

_ROWS = 16384
"""Rows of which the order is read at a time."""
_SHARDS = 8
"""Shards in memory: the pages of one source lie close together in a data set."""


@dataclass(frozen=True, kw_only=True)
class ExportOptions(LabelStudioOptions):
    """Options of `layoutray export label-studio`."""

    out: str = option(
        help="folder for tasks.json, labels.xml, and pictures of pages in formats that browsers do not show"
    )
    answers: str | None = option("--answers", metavar="FOLDER", help="answers of `layoutray predict` for these pages")


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("export label-studio", arguments, ExportOptions)
    folder = pages_folder(chosen.pages)  # `predict` keeps pages that it read from files below its answers
    answered = chosen.answers if folder == chosen.pages else chosen.answers or chosen.pages
    out = sources.absolute(chosen.out)
    with working_on(out):
        if sources.exists(sources.join(out, "tasks.json")):
            raise InputError(f"{chosen.out} already holds tasks; give another folder, or delete it")
        write_tasks(_pages(folder), _answers(answered) if answered else {}, chosen)
    return 0


def _pages(folder: str) -> Iterator[Page]:
    """Pages in order of source and number, so that tasks have the same order every time; a few shards in memory."""
    data_set = DataSet(folder)
    data_set.check()
    places: SpilledDict[tuple[str, int]] = SpilledDict(JSON)
    for uri in shards.existing(data_set.pages):
        for start, table in shards.scan_shard(uri, PAGES, ["source", "page"], _ROWS):
            numbered = zip(table["source"].to_pylist(), table["page"].to_pylist(), strict=True)
            for row, (source, number) in enumerate(numbered, start):
                places[f"{source}\0{number:09}\0{uri}\0{row:09}"] = uri, row
    read_shard = lru_cache(maxsize=_SHARDS)(shards.read_shard)
    for uri, row in places.values():
        yield from codec.pages_of(read_shard(uri).slice(row, 1))


def _answers(folder: str) -> Suggestions:
    files = [uri for uri in sources.list_files(sources.join(folder, "jsonl")) if uri.endswith(".jsonl")]
    if not files:
        raise InputError(f"{folder} holds no jsonl/*.jsonl; point --answers to a folder written by `layoutray predict`")
    return suggestions(json.loads(line) for uri in files for line in sources.read_bytes(uri).splitlines())
