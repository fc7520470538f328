"""Mix several data sets into one, on the cluster: the pages that `prepare.mix` selects are copied.

A shard of the mix has the selected pages of one shard of a data set, and a name made from their ids. A repeated run
copies the shards that are missing, and removes those whose selection has changed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import ray.data

from layoutray.errors import InputError
from layoutray.prepare.mix import last_rank, quotas, rank
from layoutray.recipe.mix import MixRecipe
from layoutray.store import job, shards, sources
from layoutray.store.data_set import DataSet
from layoutray.store.schema import PAGES, SPLITS

Counts = dict[str, dict[str, int]]
"""Numbers of pages, by data set and split."""


def mix(recipe: MixRecipe, folders: Sequence[str], out: str) -> tuple[Counts, Counts]:
    """Copy the selected pages of the data sets `folders` that no earlier run has copied into the data set `out`.

    Returns:
        Pages of the mix, and all pages of the data sets.

    Raises:
        InputError: if the folders do not match the shares, a data set is too small for its share, a page is in two data
            sets, or another job owns `out`.
        SchemaError: if a folder is not a data set.
    """
    data_sets = {sources.name(folder): DataSet(folder) for folder in folders}
    if data_sets.keys() != recipe.shares.keys() or len(data_sets) != len(folders):
        raise InputError(
            f"the folders are named {', '.join(sorted(map(sources.name, folders)))}, "
            f"the shares {', '.join(sorted(recipe.shares))}; give one folder of the same name for each share"
        )
    ranks = {name: _ranks(data_set, recipe.seed) for name, data_set in data_sets.items()}
    available = {name: {split: len(by_split[split]) for split in SPLITS} for name, by_split in ranks.items()}
    _check_disjoint(data_sets)
    taken = quotas(recipe, available)
    inputs = {
        "recipe": asdict(recipe),
        "sources": {name: data_set.folder for name, data_set in data_sets.items()},
    }
    job.claim(out, inputs)
    mixed = DataSet(out)
    copies: dict[str, dict[str, Any]] = {}
    for name, data_set in data_sets.items():
        last = {split: last_rank(ranks[name][split], taken[name][split]) for split in SPLITS}
        copies |= _copies(data_set, last, recipe.seed)
    shards.remove_half_written(mixed.pages)
    shards.keep_only(mixed.pages, copies)
    written = set(map(shards.stem, shards.shards(mixed.pages)))
    missing = [copy for name, copy in copies.items() if name not in written]
    if missing:
        mixed.remove_mix_summary()
        selected = partial(_copy_shard, out=mixed.pages, seed=recipe.seed)
        ray.data.from_items(missing).map(selected, num_cpus=0.5).materialize()
    mixed.write_mix_summary(json.dumps(inputs | {"pages": taken}, indent=2, sort_keys=True).encode())
    return taken, available


def _ranks(data_set: DataSet, seed: int) -> dict[str, list[int]]:
    ranks: dict[str, list[int]] = {split: [] for split in SPLITS}
    for table in data_set.scan_pages(["page_id", "split"]):
        for page_id, split in zip(table["page_id"].to_pylist(), table["split"].to_pylist(), strict=True):
            ranks[split].append(rank(page_id, seed))
    return ranks


def _check_disjoint(data_sets: Mapping[str, DataSet]) -> None:
    """A page in two data sets could be in train of one and in test of the other."""
    # Hashes of document and page number, as an array for each data set.
    keys = [
        np.fromiter(
            (
                rank(f"{doc_id} {page}", seed=0)
                for table in data_set.scan_pages(["doc_id", "page"])
                for doc_id, page in zip(table["doc_id"].to_pylist(), table["page"].to_pylist(), strict=True)
            ),
            np.uint64,
        )
        for data_set in data_sets.values()
    ]
    unique, counts = np.unique(np.concatenate(keys), return_counts=True)
    if repeated := int((counts > 1).sum()):
        raise InputError(
            f"{repeated} of {len(unique)} pages are in more than one of {', '.join(data_sets)}; "
            "ingest their files into only one of them"
        )


def _copies(data_set: DataSet, last: Mapping[str, int], seed: int) -> dict[str, dict[str, Any]]:
    """The shards of the mix with pages of `data_set`, by name without ending: rows for `_copy_shard`.

    Args:
        last: by split, the rank of the last page that is selected.
    """
    copies: dict[str, dict[str, Any]] = {}
    for uri, table in shards.read_each(data_set.pages, PAGES, ["page_id", "split"]):
        if ids := table.filter(_selected(table, last, seed))["page_id"].to_pylist():
            name = shards.stem(shards.part_name(ids))
            copies[name] = {"name": name, "shard": uri, "last": last}
    return copies


def _copy_shard(row: dict[str, Any], out: str, seed: int) -> dict[str, Any]:
    pages = shards.read(row["shard"], PAGES)
    shards.write(pages.filter(_selected(pages, row["last"], seed)), out, f"{row['name']}.parquet")
    return {"name": row["name"]}


def _selected(pages: pa.Table, last: Mapping[str, int], seed: int) -> pa.Array:
    ids, splits = pages["page_id"].to_pylist(), pages["split"].to_pylist()
    return pa.array(
        [rank(page_id, seed) <= last[split] for page_id, split in zip(ids, splits, strict=True)], pa.bool_()
    )
