"""`prepare.encode` over the cluster: PAGES shards in, EXAMPLES shards out."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ray.data
from ray.data import ActorPoolStrategy

from layoutray.cluster.connect import num_workers
from layoutray.cluster.progress import Progress, follow, ignore_progress
from layoutray.document.filters import Filters
from layoutray.errors import InputError, Reason
from layoutray.prepare.encode import SPLITS, Encoder, chosen, digest_of, labels_for, vocabulary_for
from layoutray.prepare.field_truth import count_values
from layoutray.recipe import Recipe
from layoutray.store import codec, shards, sources
from layoutray.store.card import Card
from layoutray.store.schema import PAGES
from layoutray.tasks import fields_of
from layoutray.tokenizer import Tokenizer

_FILTERS = tuple(field.name for field in dataclasses.fields(Filters))
_PAGES_PER_SHARD = 256


def encode(
    recipe: Recipe, folders: Sequence[str], out: str, progress: Callable[[Progress], None] = ignore_progress
) -> Card:
    """Encode the PAGES of `folders` for the recipe's task into `out`: shards by split, `tokenizer.json`, `dataset.json`.

    Pages that cannot be encoded, values found nowhere and what was cut become dead letters in `out/dead_letters`. The card is written
    last: without it the folder is no data set.

    Raises:
        InputError: when `out` is already a data set or what is left of one, no page is for training, or filters would take pages out of
            documents that are to be read as a whole.
        SchemaError: when a folder holds no PAGES.
    """
    if sources.exists(sources.join(out, "dataset.json")):
        raise InputError(f"{out} already holds encoded examples; give another --out, or delete that folder")
    if any(shards.shards(sources.join(out, part)) for part in (*SPLITS, "dead_letters")):
        raise InputError(
            f"{out} holds shards of an `encode` that did not finish; delete that folder, or give another --out"
        )
    if recipe.filters != Filters() and recipe.task.of_documents:
        raise InputError(
            f"[filters] refuse single pages, and task {recipe.task.name} reads whole documents; leave [filters] out"
        )
    inputs = [_pages_folder(folder) for folder in folders]
    splits = Counter(
        split
        for folder in inputs
        for table in shards.scan(folder, PAGES, ["split"])
        for split in table["split"].to_pylist()
    )
    if not splits["train"]:
        raise InputError(
            f"no page of {', '.join(folders)} is for training; set dev_share and test_share when ingesting"
        )
    fields = fields_of(recipe.task)
    values = count_values(inputs, fields) if fields else 0
    vocabulary = vocabulary_for(recipe.tokenizer, inputs, recipe.filters, recipe.task)
    encoder = Encoder(
        recipe.task, recipe.max_length, labels_for(recipe.task, inputs), vocabulary.inner.to_str(), tuple(inputs)
    )
    receipts = follow(
        _encoded(encoder, recipe.filters, inputs, out), Progress("encode", 0, splits.total()), _pages_of, progress
    )
    pages = Counter[str]()
    examples = Counter[str]()
    filtered = Counter[str]()
    for receipt in receipts:
        pages.update({split: receipt[f"{split}_pages"] for split in SPLITS})
        examples.update({split: receipt[f"{split}_examples"] for split in SPLITS})
        filtered.update({name: receipt[f"{name}_filtered"] for name in _FILTERS})
    if not examples["train"]:
        refused = f"; filters refused {dict(+filtered)}" if filtered.total() else ""
        raise InputError(
            f"no training page of {', '.join(folders)} has words that could be encoded{refused}; see {out}/dead_letters"
        )
    missing = sum(receipt["missing"] for receipt in receipts)
    if values and missing == values:
        raise InputError(
            f"none of the {values} values in {', '.join(folders)} stands on a page of its document, so there is nothing to learn; "
            f"see {out}/dead_letters for how they should be written, and compare the types in [task.fields]"
        )
    ids = [page_id for receipt in receipts for page_id in receipt["page_ids"]]
    _write_vocabulary(vocabulary, out)
    card = Card(
        task=recipe.task.name,
        max_length=recipe.max_length,
        labels=encoder.labels,
        sources=tuple(folders),
        pages=dict(pages),
        examples=dict(examples),
        dead=sum(receipt["dead"] for receipt in receipts),
        digest=digest_of(encoder, ids),
        values=values,
        missing=missing,
        cut=sum(receipt["cut"] for receipt in receipts),
        texts_cut=sum(receipt["texts_cut"] for receipt in receipts),
        filtered=dict(+filtered),
    )
    card.write(out)
    return card


class _EncodeShard:
    """Encodes a batch of pages and writes its shard; the name comes from the pages, so a repeated task replaces its own shard."""

    def __init__(self, encoder: Encoder, filters: Filters, out: str) -> None:
        self._encoder = encoder
        self._filters = filters
        self._out = out

    def __call__(self, pages: pa.Table) -> pa.Table:
        taken, refused = chosen(pages, self._filters)
        examples, dead = self._encoder(taken)
        ids = taken["page_id"].to_pylist()
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
            shards.write(codec.dead_letters_table(dead), sources.join(self._out, "dead_letters"), shards.part_name(ids))
        # Of a type that does not depend on whether a page has passed.
        return pa.table(
            {"page_ids": pa.array([ids], pa.list_(pa.string())), **{name: [count] for name, count in receipt.items()}}
        )


def _encoded(encoder: Encoder, filters: Filters, inputs: Sequence[str], out: str) -> ray.data.Dataset:
    files = [uri for folder in inputs for uri in shards.shards(folder)]
    pages = ray.data.read_parquet(files, num_cpus=0.1)
    return pages.map_batches(
        _EncodeShard,
        fn_constructor_args=(encoder, filters, out),
        batch_size=_PAGES_PER_SHARD,
        batch_format="pyarrow",
        num_cpus=0.5,
        compute=ActorPoolStrategy(min_size=1, max_size=num_workers()),
    )


def _pages_of(receipt: Mapping[str, Any]) -> int:
    return sum(receipt[f"{split}_pages"] for split in SPLITS)


def _pages_folder(folder: str) -> str:
    """`folder` itself, or its `pages` where it is what `ingest` wrote."""
    inside = sources.join(folder, "pages")
    chosen = inside if sources.exists(inside) else folder
    next(shards.scan(chosen, PAGES, ["page_id"]), None)  # speaks up when there are no pages
    return chosen


def _write_vocabulary(vocabulary: Tokenizer, out: str) -> None:
    shards.write_bytes(vocabulary.inner.to_str(pretty=True).encode(), out, "tokenizer.json")
