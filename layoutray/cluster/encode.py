"""Encode data sets on the cluster: PAGES shards to EXAMPLES shards, by `prepare.encode`."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ray.data
from ray.data import ActorPoolStrategy

from layoutray.cluster import page_slices
from layoutray.cluster.connect import num_workers
from layoutray.cluster.progress import Progress, follow, ignore_progress
from layoutray.document.filters import Filters
from layoutray.errors import InputError, Reason
from layoutray.prepare.encode import SPLITS, Encoder, digest_of, filtered_pages, labels_for, vocabulary_for
from layoutray.prepare.field_truth import count_values
from layoutray.recipe import Recipe
from layoutray.store import codec, shards, sources
from layoutray.store.card import CARD, Card
from layoutray.store.data_set import DEAD_LETTERS_FOLDER, DataSet
from layoutray.store.schema import PAGES
from layoutray.tasks import fields_of
from layoutray.tokenizer import Tokenizer

_FILTERS = tuple(field.name for field in dataclasses.fields(Filters))
_PAGES_PER_SHARD = 256

_Receipts = Sequence[Mapping[str, Any]]
"""What the workers report of their batches."""


def encode(
    recipe: Recipe, folders: Sequence[str], out: str, progress: Callable[[Progress], None] = ignore_progress
) -> Card:
    """Encode the data sets `folders` for the recipe's task into `out`.

    `out` gets one folder of shards for each split, `tokenizer.json` and `dataset.json`.

    Pages that cannot be encoded, expected values that were not found, and texts that were cut become dead letters in
    `out/dead_letters`. The card `dataset.json` is written last: a folder without it is incomplete.

    Raises:
        InputError: if `out` already contains examples, no page is in train, or filters would remove pages of documents
            that the task reads as a whole.
        SchemaError: if a folder is not a data set.
    """
    _check_output(out)
    _check_filters(recipe)
    data_sets = tuple(map(DataSet, folders))
    splits, lengths = _count_pages(data_sets)
    if not splits["train"]:
        raise InputError(f"no page of {', '.join(folders)} is in train; set dev_share and test_share when ingesting")
    fields = fields_of(recipe.task)
    values = count_values(data_sets, fields) if fields else 0
    vocabulary = vocabulary_for(recipe.tokenizer, data_sets, recipe.filters, recipe.task)
    labels = labels_for(recipe.task, data_sets)
    encoder = Encoder(recipe.task, recipe.max_length, labels, vocabulary.inner.to_str(), data_sets)
    start = Progress("encode", 0, splits.total())
    receipts = follow(_encoded(encoder, recipe.filters, out, lengths), start, _page_count, progress)
    card = _card(encoder, receipts, folders, values)
    _check_examples(card, out)
    _write_vocabulary(vocabulary, out)
    card.write(out)
    return card


def _check_output(out: str) -> None:
    if sources.exists(sources.join(out, CARD)):
        raise InputError(f"{out} already contains encoded examples; give another --out, or delete that folder")
    if any(shards.shards(sources.join(out, part)) for part in (*SPLITS, DEAD_LETTERS_FOLDER)):
        raise InputError(
            f"{out} contains shards of an `encode` that did not finish; delete that folder, or give another --out"
        )


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


def _card(encoder: Encoder, receipts: _Receipts, folders: Sequence[str], values: int) -> Card:
    def total(key: str) -> int:
        return sum(receipt[key] for receipt in receipts)

    filtered = {name: total(f"{name}_filtered") for name in _FILTERS}
    return Card(
        task=encoder.task.name,
        max_length=encoder.max_length,
        labels=encoder.labels,
        sources=tuple(folders),
        pages={split: total(f"{split}_pages") for split in SPLITS},
        examples={split: total(f"{split}_examples") for split in SPLITS},
        dead=total("dead"),
        digest=digest_of(encoder, [page_id for receipt in receipts for page_id in receipt["page_ids"]]),
        values=values,
        missing=total("missing"),
        cut=total("cut"),
        texts_cut=total("texts_cut"),
        filtered={name: count for name, count in filtered.items() if count},
    )


def _check_examples(card: Card, out: str) -> None:
    """Raise InputError if there is nothing to train on."""
    folders = ", ".join(card.sources)
    if not card.examples["train"]:
        refused = f"; filters refused {card.filtered}" if card.filtered else ""
        raise InputError(
            f"no training page of {folders} has words that can be encoded{refused}; see {out}/{DEAD_LETTERS_FOLDER}"
        )
    if card.values and card.missing == card.values:
        raise InputError(
            f"none of the {card.values} expected values in {folders} occurs on a page of its document, so there is "
            f"nothing to learn; {out}/{DEAD_LETTERS_FOLDER} lists the values; "
            "compare them with the types in [task.fields]"
        )


class _EncodeShard:
    """Encodes a batch of pages and writes its shards. Their name is made from the pages, so a retry replaces them."""

    def __init__(self, encoder: Encoder, filters: Filters, out: str) -> None:
        self._encoder = encoder
        self._filters = filters
        self._out = out

    def __call__(self, batch: pa.Table) -> pa.Table:
        pages = page_slices.read(batch)
        passed, refused = filtered_pages(pages, self._filters)
        examples, dead = self._encoder(passed)
        ids = passed["page_id"].to_pylist()
        reasons = Counter(letter.reason for letter in dead if letter.page is None)
        receipt = {
            "dead": len(dead) - reasons.total(),
            "missing": reasons[Reason.VALUE_NOT_FOUND],
            "cut": reasons[Reason.CUT],
            "texts_cut": reasons[Reason.TEXT_CUT],
        }
        receipt |= {f"{name}_filtered": refused[name] for name in _FILTERS}
        for split in SPLITS:
            part = examples.filter(pc.field("split") == split)
            if part.num_rows:
                shards.write(part, sources.join(self._out, split), shards.part_name(ids))
            receipt[f"{split}_examples"] = part.num_rows
            receipt[f"{split}_pages"] = pages["split"].to_pylist().count(split)
        if dead:
            letters = codec.dead_letters_table(dead)
            shards.write(letters, sources.join(self._out, DEAD_LETTERS_FOLDER), shards.part_name(ids))
        # With an explicit type, because the type of an empty list would differ from that of a list of ids.
        return pa.table(
            {"page_ids": pa.array([ids], pa.list_(pa.string())), **{name: [count] for name, count in receipt.items()}}
        )


def _encoded(encoder: Encoder, filters: Filters, out: str, lengths: Mapping[str, int]) -> ray.data.Dataset:
    batches = page_slices.batches(lengths, _PAGES_PER_SHARD)
    return ray.data.from_blocks(batches).map_batches(
        _EncodeShard,
        fn_constructor_args=(encoder, filters, out),
        batch_size=1,
        batch_format="pyarrow",
        num_cpus=0.5,
        compute=ActorPoolStrategy(size=min(num_workers(), len(batches))),
    )


def _page_count(receipt: Mapping[str, Any]) -> int:
    return sum(receipt[f"{split}_pages"] for split in SPLITS)


def _write_vocabulary(vocabulary: Tokenizer, out: str) -> None:
    shards.write_bytes(vocabulary.inner.to_str(pretty=True).encode(), out, "tokenizer.json")
