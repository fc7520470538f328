"""Encode data sets on the cluster: PAGES shards to EXAMPLES, by `prepare.encode`.

1. The driver counts the pages, and makes the vocabulary and the labels.
2. Workers encode batches of pages as pieces (`prepare.encode_output`). A piece that an earlier run has completed is not
   made again.
3. Tasks merge the pieces into few files, sorted by document; the driver writes their index and, last, the card.
"""

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import ray
from ray.exceptions import RayTaskError

from layoutray import tokenizer
from layoutray.checkpoint import Fetch
from layoutray.cluster import page_slices
from layoutray.cluster.connect import num_workers
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.cluster.worker_pool import WorkerPool
from layoutray.document.filters import Filters
from layoutray.errors import InputError, LayoutrayError, Reason
from layoutray.prepare import origin, record_codecs
from layoutray.prepare.encode import Encoder, digest_of, filtered_pages, labels_for, pages_digest, vocabulary_for
from layoutray.prepare.encode_output import SPLITS, EncodeOutput
from layoutray.prepare.field_truth import count_values
from layoutray.recipe.recipes import Recipe
from layoutray.store import codec, shards, sources
from layoutray.store.card import Card
from layoutray.store.data_set import DEAD_LETTERS_FOLDER, DataSet
from layoutray.store.schema import PAGES
from layoutray.store.spilled import TEXT, SpilledList
from layoutray.tasks import fields_of

_FILTERS = tuple(field.name for field in dataclasses.fields(Filters))
_PAGES_PER_PIECE = 256
_SLOWEST_PIECE_SECONDS = 600.0
_TASKS_PER_WORKER = 2
"""Sorts or merges that are handed to Ray at a time, for each worker."""

_Receipts = Sequence[Mapping[str, Any]]
"""What the workers report of their pieces."""


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
    _check_filters(recipe)
    data_sets = tuple(map(DataSet, folders))
    splits, lengths = _count_pages(data_sets)
    if not splits["train"]:
        raise InputError(f"no page of {', '.join(folders)} is in train; set dev_share and test_share when ingesting")
    output = EncodeOutput(out)
    identity = _identity(recipe, data_sets, lengths)
    prepared = output.prepared(identity)
    if prepared is None:
        prepared = _prepare(recipe, data_sets, output, fetch)
        output.begin(identity, prepared)
    if output.finished():
        return Card.read(out)
    vocabulary = tokenizer.load(out).inner.to_str()
    encoder = Encoder(recipe.task, recipe.max_length, tuple(prepared["labels"]), vocabulary, data_sets)
    workers = workers or num_workers()
    receipts = _encode_pieces(encoder, recipe.filters, output, lengths, workers, progress)
    card = _card(encoder, receipts, folders, prepared["values"])
    _check_examples(card, out)
    _merge_pieces(output, receipts, workers, progress)
    card.write(out)
    output.remove_pieces()
    return card


def encoding_settings(recipe: Recipe) -> dict[str, Any]:
    """The sections of a recipe on which its examples depend."""
    settings = recipe.to_dict()
    return {key: settings[key] for key in ("task", "tokenizer", "filters", "max_length")}


def _prepare(recipe: Recipe, data_sets: Sequence[DataSet], output: EncodeOutput, fetch: Fetch) -> dict[str, Any]:
    """Write the vocabulary. Returns the labels and the number of expected values."""
    fields = fields_of(recipe.task)
    values = count_values(data_sets, fields) if fields else 0
    vocabulary = vocabulary_for(recipe.tokenizer, data_sets, recipe.filters, recipe.task, fetch)
    shards.write_bytes(vocabulary.inner.to_str(pretty=True).encode(), output.folder, "tokenizer.json")
    return {"labels": labels_for(recipe.task, data_sets), "values": values}


def _identity(recipe: Recipe, data_sets: Sequence[DataSet], lengths: Mapping[str, int]) -> dict[str, Any]:
    """What two calls must have in common so that the second continues the first."""
    documents = [item for data_set in data_sets for item in sources.sizes(data_set.documents)]
    content = json.dumps([sorted(lengths.items()), documents])
    return {"pages": hashlib.sha256(content.encode()).hexdigest(), **encoding_settings(recipe)}


def _check_filters(recipe: Recipe) -> None:
    if recipe.filters != Filters() and recipe.task.of_documents:
        raise InputError(
            f"[filters] refuse single pages, but task {recipe.task.name} reads whole documents; remove [filters]"
        )


def _count_pages(data_sets: Sequence[DataSet]) -> tuple[Counter[str], dict[str, int]]:
    """Number of pages of each split, and of each shard by URI."""
    splits, lengths = Counter[str](), dict[str, int]()
    for data_set in data_sets:
        data_set.check()
        for uri, shard in shards.read_each(data_set.pages, PAGES, ["split"]):
            splits.update(shard["split"].to_pylist())
            lengths[uri] = shard.num_rows
    return splits, lengths


def _encode_pieces(
    encoder: Encoder,
    filters: Filters,
    output: EncodeOutput,
    lengths: Mapping[str, int],
    workers: int,
    progress: Callable[[Progress], None],
) -> _Receipts:
    batches = SpilledList(TEXT)
    batches.extend(map(json.dumps, page_slices.slices(lengths, _PAGES_PER_PIECE)))
    arguments = {"encoder": encoder, "filters": filters, "output": output}
    pool = WorkerPool(_PieceWorker, arguments, min(workers, len(batches)), 1, _SLOWEST_PIECE_SECONDS)
    receipts: list[Mapping[str, Any]] = []
    done, total = 0, sum(lengths.values())
    progress(Progress("encode", 0, total))
    for table in pool.map(batches):
        for text in table["receipt"].to_pylist():
            receipts.append(json.loads(text))
            done += sum(receipts[-1]["pages"].values())
            progress(Progress("encode", done, total))
    return receipts


class _PieceWorker:
    """Encodes batches of pages, each as a piece. Yields the receipts."""

    def __init__(self, encoder: Encoder, filters: Filters, output: EncodeOutput) -> None:
        self._encoder = encoder
        self._filters = filters
        self._output = output

    def __call__(self, batch: pa.Table) -> pa.Table:
        texts = record_codecs.from_table(batch, TEXT)
        return pa.table({"receipt": [json.dumps(self._output.receipt(_name(t)) or self._encode(t)) for t in texts]})

    def _encode(self, slices: str) -> dict[str, Any]:
        piece = _name(slices)
        pages = page_slices.read(json.loads(slices))
        passed, refused = filtered_pages(pages, self._filters)
        examples, dead = self._encoder(passed)
        if dead:
            letters = codec.dead_letters_table(dead)
            folder = sources.join(self._output.folder, DEAD_LETTERS_FOLDER)
            shards.write(letters, folder, f"{piece}.parquet")
        reasons = Counter(letter.reason for letter in dead if letter.page is None)
        counts = {
            "digest": hex(pages_digest(passed["page_id"].to_pylist())),
            "pages": Counter(pages["split"].to_pylist()),
            "examples": Counter(examples["split"].to_pylist()),
            "filtered": refused,
            "dead": len(dead) - reasons.total(),
            "missing": reasons[Reason.VALUE_NOT_FOUND],
            "contradictory": reasons[Reason.CONTRADICTORY],
            "cut": reasons[Reason.CUT],
            "texts_cut": reasons[Reason.TEXT_CUT],
        }
        return self._output.write_piece(piece, examples, counts)


def _name(slices: str) -> str:
    """Name of the piece of a batch of pages: it follows from the slices alone."""
    return f"part-{hashlib.sha256(slices.encode()).hexdigest()[:20]}"


def _card(encoder: Encoder, receipts: _Receipts, folders: Sequence[str], values: int) -> Card:
    def total(key: str) -> int:
        return sum(receipt[key] for receipt in receipts)

    def by_name(key: str, names: Sequence[str]) -> dict[str, int]:
        return {name: sum(receipt[key].get(name, 0) for receipt in receipts) for name in names}

    return Card(
        task=encoder.task.name,
        max_length=encoder.max_length,
        labels=encoder.labels,
        sources=tuple(folders),
        pages=by_name("pages", SPLITS),
        examples=by_name("examples", SPLITS),
        dead=total("dead"),
        digest=digest_of(encoder, sum(int(receipt["digest"], 16) for receipt in receipts)),
        values=values,
        missing=total("missing"),
        contradictory=total("contradictory"),
        cut=total("cut"),
        texts_cut=total("texts_cut"),
        filtered={name: count for name, count in by_name("filtered", _FILTERS).items() if count},
        documents=origin.names_of(folders),
        words=origin.word_sources(folders),
    )


def _check_examples(card: Card, out: str) -> None:
    """Raise InputError if there is nothing to train on."""
    folders = ", ".join(card.sources)
    if not card.examples["train"]:
        refused = f"; filters refused {card.filtered}" if card.filtered else ""
        raise InputError(
            f"no training page of {folders} has words that can be encoded{refused}; see {out}/{DEAD_LETTERS_FOLDER}"
        )
    if card.values and card.missing + card.contradictory == card.values:
        raise InputError(
            f"none of the {card.values} expected values in {folders} can be learned: {card.missing} occur on no page "
            f"of their document, and {card.contradictory} contradict others of it; {out}/{DEAD_LETTERS_FOLDER} lists "
            "the values; compare them with the types in [task.fields]"
        )


def _merge_pieces(
    output: EncodeOutput, receipts: _Receipts, workers: int, progress: Callable[[Progress], None]
) -> None:
    sorts, merges = list(output.sorts(receipts)), list(output.merges(receipts))
    sort, merge = (ray.remote(num_cpus=0.5)(method) for method in (EncodeOutput.sort, EncodeOutput.merge))

    def report(done: int) -> None:
        progress(Progress("merge", done, len(sorts) + len(merges)))

    report(0)
    at_a_time = _TASKS_PER_WORKER * workers
    _run([partial(sort.remote, output, *one) for one in sorts], at_a_time, report)
    tables = _run([partial(merge.remote, output, one) for one in merges], at_a_time, lambda n: report(len(sorts) + n))
    for split in SPLITS:
        blocks = [table for one, table in zip(merges, tables, strict=True) if one.split == split]
        output.finish_split(split, blocks)


def _run(calls: Sequence[Callable[[], Any]], at_a_time: int, report: Callable[[int], None]) -> list[Any]:
    """Results of Ray tasks; each of `calls` hands one to Ray. `report` gets the number of finished ones."""
    results: list[Any] = []
    for start in range(0, len(calls), at_a_time):
        results += _results([call() for call in calls[start : start + at_a_time]])
        report(len(results))
    return results


def _results(tasks: list[Any]) -> list[Any]:
    """Results of Ray tasks. Raises the LayoutrayError or OSError that a task raises."""
    try:
        return ray.get(tasks)
    except RayTaskError as error:
        if isinstance(error.cause, LayoutrayError | OSError):
            raise error.cause from None
        raise
