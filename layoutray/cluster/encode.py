"""Encode data sets on the cluster: PAGES shards to EXAMPLES.

1. The driver counts the pages, and makes the vocabulary and the labels.
2. Workers encode the pages in pieces (`prepare.pieces`). A piece that an earlier run has completed is not made again.
3. Tasks sort the pieces by document and write few files from them (`prepare.encode_output`); the driver writes their
   index and, last, the card.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import ray

from layoutray import tokenizer
from layoutray.checkpoint import Fetch
from layoutray.cluster.connect import num_workers
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.cluster.worker_pool import map_records, own_errors
from layoutray.document.filters import Filters
from layoutray.errors import InputError
from layoutray.prepare import record_codecs
from layoutray.prepare.encode import Encoder, labels_for, vocabulary_for
from layoutray.prepare.encode_output import EncodeOutput
from layoutray.prepare.field_truth import count_partial, count_values
from layoutray.prepare.pieces import Piece, PieceCounts, Run, card_of, check_examples, encode_piece, pieces_of
from layoutray.prepare.whole_documents import last_data_sets
from layoutray.recipe.recipes import Recipe
from layoutray.store import shards, sources
from layoutray.store.card import Card
from layoutray.store.data_set import DataSet
from layoutray.store.schema import PAGES, SPLITS
from layoutray.store.spilled import SpilledList, TextCodec
from layoutray.tasks import fields_of

_PAGES_PER_PIECE = 256
_SLOWEST_PIECE_SECONDS = 600.0
_TASKS_PER_WORKER = 2
"""Sorts or files that are handed to Ray at a time, for each worker."""
_PIECE: TextCodec[Piece] = TextCodec(lambda piece: json.dumps(piece.rows), lambda text: Piece(json.loads(text)))


def encode(
    recipe: Recipe,
    folders: Sequence[str],
    out: str,
    *,
    workers: int | None = None,
    fetch: Fetch = str,
    progress: Callable[[Progress], None] = ignore_progress,
) -> Card:
    """Encode the data sets `folders` for the recipe's task into `out`.

    `out` gets a folder of EXAMPLES for each split, `tokenizer.json` and `dataset.json`. Pages that cannot be encoded,
    expected values that were not found or contradict each other, and texts that were cut become dead letters in
    `out/dead_letters`. The card `dataset.json` is written last: a folder without it is incomplete, and the same call
    continues it.

    Args:
        workers: number of worker processes; default: one for each core of the cluster.
        fetch: gives the folder or address of the recipe's `tokenizer.path`.

    Raises:
        InputError: if another job owns `out`, no page is in train, or filters would remove pages of documents
            that the task reads as a whole.
        SchemaError: if a folder is not a data set.
    """
    if recipe.filters != Filters() and recipe.task.of_documents:
        raise InputError(
            f"[filters] refuse single pages, but task {recipe.task.name} reads whole documents; remove [filters]"
        )
    data_sets = tuple(map(DataSet, folders))
    splits, runs, superseded = count_pages(data_sets)
    if not splits["train"]:
        raise InputError(f"no page of {', '.join(folders)} is in train; set dev_share and test_share when ingesting")
    output = EncodeOutput(out)
    lengths = {uri: sum(end - start for start, end in of_shard) for uri, of_shard in runs.items()}
    identity = _identity(recipe, data_sets, lengths)
    prepared = output.prepared(identity)
    if prepared is None:
        prepared = _prepare(recipe, data_sets, output, fetch)
        output.begin(identity, prepared)
    if output.finished():
        return Card.read(out)
    vocabulary = tokenizer.load(out).inner.to_str()
    encoder = Encoder(
        task=recipe.task,
        max_length=recipe.max_length,
        labels=tuple(prepared["labels"]),
        vocabulary=vocabulary,
        data_sets=data_sets,
    )
    workers = workers or num_workers()
    arguments = {"encoder": encoder, "filters": recipe.filters, "output": output}
    pieces = _encode_pieces(arguments, runs, workers, progress)
    card = card_of(encoder, pieces, prepared["counts"] | {"superseded": superseded})
    check_examples(card, out)
    _write_files(output, pieces, workers, progress)
    card.write(out)
    output.remove_pieces()
    return card


def encoding_settings(recipe: Recipe) -> dict[str, Any]:
    """The sections of a recipe on which its examples depend."""
    settings = recipe.to_dict()
    return {key: settings[key] for key in ("task", "tokenizer", "filters", "max_length")}


def count_pages(data_sets: Sequence[DataSet]) -> tuple[Counter[str], dict[str, list[Run]], int]:
    """Number of pages of each split, the runs of their rows in each shard by URI, and the number of other pages.

    The others are those of documents that a later data set has, too.
    """
    splits, runs, superseded = Counter[str](), dict[str, list[Run]](), 0
    last = last_data_sets([data_set.scan_pages(["doc_id"]) for data_set in data_sets])
    for number, data_set in enumerate(data_sets):
        data_set.check()
        for uri, shard in shards.read_each(data_set.pages, PAGES, ["split", "doc_id"]):
            kept = np.array([last.get(doc_id, number) == number for doc_id in shard["doc_id"].to_pylist()])
            splits.update(split for split, keep in zip(shard["split"].to_pylist(), kept, strict=True) if keep)
            bounds = np.flatnonzero(np.diff(kept, prepend=False, append=False)).reshape(-1, 2)
            runs[uri] = [(start, end) for start, end in bounds.tolist()]
            superseded += int((~kept).sum())
    return splits, runs, superseded


def _identity(recipe: Recipe, data_sets: Sequence[DataSet], lengths: Mapping[str, int]) -> dict[str, Any]:
    """What two calls must have in common so that the second continues the first."""
    documents = [file for data_set in data_sets for file in sources.sizes(data_set.documents)]
    content = json.dumps([sorted(lengths.items()), documents])
    return {"pages": hashlib.sha256(content.encode()).hexdigest(), **encoding_settings(recipe)}


def _prepare(recipe: Recipe, data_sets: Sequence[DataSet], output: EncodeOutput, fetch: Fetch) -> dict[str, Any]:
    """Write the vocabulary. Returns the labels, and numbers of values and documents for the card."""
    fields = fields_of(recipe.task)
    values = count_values(data_sets, fields) if fields else 0
    vocabulary = vocabulary_for(recipe.tokenizer, data_sets, recipe.filters, recipe.task, fetch)
    shards.write_bytes(vocabulary.inner.to_str(pretty=True).encode(), output.folder, "tokenizer.json")
    partial, values_of_partial = count_partial(data_sets, fields)
    counts = {"values": values, "partial": partial, "values_of_partial": values_of_partial}
    return {"labels": labels_for(recipe.task, data_sets), "counts": counts}


def _encode_pieces(
    arguments: dict[str, Any], runs: Mapping[str, Sequence[Run]], workers: int, progress: Callable[[Progress], None]
) -> list[PieceCounts]:
    """Encode all pages. `arguments` are those of `_PieceWorker`."""
    pieces = SpilledList(_PIECE)
    pieces.extend(pieces_of(runs, _PAGES_PER_PIECE))
    encoded: list[PieceCounts] = []
    done, total = 0, sum(end - start for of_shard in runs.values() for start, end in of_shard)
    progress(Progress(stage="encode", done=0, total=total))
    workers, deadline = min(workers, len(pieces)), _SLOWEST_PIECE_SECONDS
    for table in map_records(pieces, _PieceWorker, arguments, workers=workers, batch_size=1, deadline=deadline):
        for text in table["counts"].to_pylist():
            encoded.append(PieceCounts(**json.loads(text)))
            done += sum(encoded[-1].pages.values())
            progress(Progress(stage="encode", done=done, total=total))
    return encoded


@dataclass
class _PieceWorker:
    """A Ray actor that encodes pieces. Yields their counts."""

    encoder: Encoder
    filters: Filters
    output: EncodeOutput

    def __call__(self, packed: pa.Table) -> pa.Table:
        counts = map(self._encode, record_codecs.from_table(packed, _PIECE))
        return pa.table({"counts": [json.dumps(asdict(one)) for one in counts]})

    def _encode(self, piece: Piece) -> PieceCounts:
        if done := self.output.counts(piece.name):
            return done
        examples, letters, counts = encode_piece(piece, self.encoder, self.filters)
        self.output.write_piece(examples, letters, counts)
        return counts


def _write_files(
    output: EncodeOutput, pieces: Sequence[PieceCounts], workers: int, progress: Callable[[Progress], None]
) -> None:
    sorts, files = list(output.sorts(pieces)), list(output.files(pieces))
    at_a_time, total = _TASKS_PER_WORKER * workers, len(sorts) + len(files)
    progress(Progress(stage="merge", done=0, total=total))

    def run(method: Callable[..., Any], calls: Sequence[Sequence[Any]], done: int) -> list[Any]:
        """Results of a method of `output` as Ray tasks, for the arguments of each call."""
        task, results = cast(Any, ray.remote(num_cpus=0.5))(method), list[Any]()
        for start in range(0, len(calls), at_a_time):
            with own_errors():
                results += ray.get([task.remote(output, *call) for call in calls[start : start + at_a_time]])
            progress(Progress(stage="merge", done=done + len(results), total=total))
        return results

    run(EncodeOutput.sort, sorts, 0)
    tables = run(EncodeOutput.write_file, [(file,) for file in files], len(sorts))
    for split in SPLITS:
        blocks = [table for file, table in zip(files, tables, strict=True) if file.split == split]
        output.finish_split(split, blocks)
