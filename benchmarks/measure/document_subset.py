"""Some documents of a data set and of its examples, as a data set and examples of their own."""

import hashlib
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.prepare.manifest import Manifest
from layoutray.store import example_files, shards, sources
from layoutray.store.card import Card
from layoutray.store.data_set import DataSet
from layoutray.store.schema import DOCUMENTS, PAGES


def training_documents(examples: Path) -> list[str]:
    """Ids of the documents with training examples, sorted."""
    return sorted(set(_training_examples(examples)["doc_id"].to_pylist()))


def write_pages_of(doc_ids: Collection[str], pages: Path, out: Path) -> None:
    """Write the pages of some documents of the data set `pages` as the data set `out`."""
    tables = DataSet(str(pages)).scan_pages(filter=_is_one_of(doc_ids))
    shards.write_all(tables, PAGES, DataSet(str(out)).pages, shards.part_name(doc_ids))


def write_data_set_of(doc_ids: Collection[str], pages: Path, out: Path) -> None:
    """Write some documents of the data set `pages`, with their values and a manifest, as the data set `out`."""
    write_pages_of(doc_ids, pages, out)
    tables = DataSet(str(pages)).scan_documents(filter=_is_one_of(doc_ids))
    shards.write_all(tables, DOCUMENTS, DataSet(str(out)).documents, shards.part_name(doc_ids))
    splits = pa.concat_tables(DataSet(str(out)).scan_pages(["split"]))["split"].to_pylist()
    part = replace(
        Manifest.read(str(pages)),
        documents_in=len(doc_ids),
        documents_out=len(doc_ids),
        documents_dead=0,
        duplicates=[],
        without_picture=0,
        pages_in=len(splits),
        pages_out=len(splits),
        pages_dead=0,
        reasons={},
        splits=dict(Counter(splits)),
        rows=len(splits),
    )
    part.write(str(out))


def write_examples_of(doc_ids: Collection[str], examples: Path, out: Path) -> None:
    """Write the training examples of some documents as `out`, with all labels of `examples`, and without dev."""
    chosen = _training_examples(examples).filter(_is_one_of(doc_ids))
    folder = sources.join(str(out), "train")
    example_files.write_index(example_files.write_shard(chosen, folder, "part-all.arrow"), folder)
    shards.write_bytes((examples / "tokenizer.json").read_bytes(), str(out), "tokenizer.json")
    card = Card.read(str(examples))
    digest = hashlib.sha256("\n".join([card.digest, *sorted(doc_ids)]).encode()).hexdigest()[:16]
    counts = {"train": chosen.num_rows, "dev": 0, "test": 0}
    pages = {"train": len(chosen.group_by(["doc_id", "page"]).aggregate([])), "dev": 0, "test": 0}
    replace(card, examples=counts, pages=pages, digest=digest).write(str(out))


def _training_examples(examples: Path) -> pa.Table:
    return example_files.read_table(sources.join(str(examples), "train"))


def _is_one_of(doc_ids: Collection[str]) -> pc.Expression:
    return pc.field("doc_id").isin(pa.array(sorted(doc_ids), pa.string()))
