"""`prepare.mix` over the cluster: several PAGES data sets in, one out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import ray.data
from numpy.typing import NDArray

from layoutray.errors import InputError
from layoutray.prepare.encode import SPLITS
from layoutray.prepare.mix import last_rank, quotas, rank
from layoutray.recipe import MixRecipe
from layoutray.store import shards, sources
from layoutray.store.schema import PAGES

ACCOUNT = "mix.json"
"""File beside `pages/` that says what the mix is made of; written last."""

Counts = dict[str, dict[str, int]]


def mix(recipe: MixRecipe, folders: Sequence[str], out: str) -> tuple[Counts, Counts]:
    """Copy the pages that `recipe` chooses from the data sets in `folders` (as `ingest` wrote them) into `out`.

    Returns:
        Pages by data set and split: those of the mix, and those that there are.

    Raises:
        InputError: when folders and shares do not fit together, a data set is too small for its share, a page is in two data
            sets, or `out` holds something.
        SchemaError: when a folder holds no PAGES.
    """
    if next(sources.list_files(out), None):
        raise InputError(f"{out} is not empty; give another --out, or delete that folder")
    named = _named(recipe, folders)
    ranks = {name: _ranks(folder, recipe.seed) for name, folder in named.items()}
    available = {name: {split: len(of[split]) for split in SPLITS} for name, of in ranks.items()}
    _check_apart(named)
    taken = quotas(recipe, available)
    for name, folder in named.items():
        _copy(folder, out, {split: last_rank(ranks[name][split], taken[name][split]) for split in SPLITS}, recipe.seed)
    account = {"recipe": asdict(recipe), "sources": dict(named), "pages": taken}
    shards.write_bytes(json.dumps(account, indent=2, sort_keys=True).encode(), out, ACCOUNT)
    return taken, available


def _named(recipe: MixRecipe, folders: Sequence[str]) -> dict[str, str]:
    named = {folder.rstrip("/").rpartition("/")[2]: folder for folder in folders}
    if named.keys() != recipe.shares.keys() or len(named) != len(folders):
        raise InputError(
            f"the folders are called {', '.join(sorted(folder.rstrip('/').rpartition('/')[2] for folder in folders))}, "
            f"the shares are of {', '.join(sorted(recipe.shares))}; give one folder for each share, with that name"
        )
    return named


def _ranks(folder: str, seed: int) -> dict[str, list[int]]:
    ranks: dict[str, list[int]] = {split: [] for split in SPLITS}
    for table in shards.scan(sources.join(folder, "pages"), PAGES, ["page_id", "split"]):
        for page_id, split in zip(table["page_id"].to_pylist(), table["split"].to_pylist(), strict=True):
            ranks[split].append(rank(page_id, seed))
    return ranks


def _check_apart(named: Mapping[str, str]) -> None:
    """A page in two data sets could be trained on by one name and tested on by the other."""
    keys = [_keys(folder) for folder in named.values()]
    unique, counts = np.unique(np.concatenate(keys), return_counts=True)
    if repeated := int((counts > 1).sum()):
        raise InputError(
            f"{repeated} of {len(unique)} pages are in more than one of {', '.join(named)}; ingest their files into one of these only"
        )


def _keys(folder: str) -> NDArray[np.uint64]:
    pages = shards.scan(sources.join(folder, "pages"), PAGES, ["doc_id", "page"])
    keys = [
        rank(f"{doc_id} {page}", seed=0)
        for table in pages
        for doc_id, page in zip(table["doc_id"].to_pylist(), table["page"].to_pylist(), strict=True)
    ]
    return np.array(keys, np.uint64)


def _copy(folder: str, out: str, last: Mapping[str, int], seed: int) -> None:
    files = ray.data.from_items(shards.shards(sources.join(folder, "pages")))
    files.map(
        partial(_copy_shard, out=sources.join(out, "pages"), last=dict(last), seed=seed), num_cpus=0.5
    ).materialize()


def _copy_shard(row: dict[str, Any], out: str, last: Mapping[str, int], seed: int) -> dict[str, Any]:
    pages = shards.read(row["item"], PAGES)
    ids = pages["page_id"].to_pylist()
    chosen = [
        rank(page_id, seed) <= last[split] for page_id, split in zip(ids, pages["split"].to_pylist(), strict=True)
    ]
    if any(chosen):
        shards.write(pages.filter(pa.array(chosen)), out, shards.part_name(ids))
    return {"pages": sum(chosen)}
