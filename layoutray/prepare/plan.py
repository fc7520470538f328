"""Which pages there are to do, decided before any is done: identities, splits, duplicates."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from layoutray import config
from layoutray.prepare.units import Duplicate, Opened, Plan, Unit
from layoutray.recipe import IngestRecipe

_PREFERRED = {"test": 0, "dev": 1, "train": 2}
"""Of two copies of a document, the one held back for measuring stays: nothing leaks from it into training."""


def settings_hash(recipe: IngestRecipe) -> str:
    """Short hash of everything in `recipe` that decides what a page row says (not of which pages are done, or how many together)."""
    values = {key: value for key, value in config.to_dict(recipe).items() if key not in ("only", "pages_per_shard")}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def page_id(doc_id: str, number: int, annotation: str, settings: str) -> str:
    """Identity of a page's row: the document's bytes, the page, and the hashes of what else decides its words and tags."""
    return hashlib.sha256(f"{doc_id} {number} {annotation} {settings}".encode()).hexdigest()[:32]


def plan_of(opened: Iterable[Opened], recipe: IngestRecipe, *, has_dev: bool) -> Plan:
    """The plan for documents in the order in which they were found.

    Args:
        has_dev: whether the set has a dev split of its own.
    """
    found = list(opened)
    settings = settings_hash(recipe)
    copies: dict[str, list[Opened]] = {}
    for one in _with_splits(found, recipe, has_dev=has_dev):
        copies.setdefault(_doc_id(one), []).append(one)
    kept = {doc_id: min(same, key=lambda one: _PREFERRED[one.item.split]) for doc_id, same in copies.items()}
    return Plan(
        units=tuple(
            Unit(page_id(doc_id, page, one.annotation, settings), doc_id, page, one.item)
            for doc_id, one in kept.items()
            for page in one.pages
        ),
        documents=tuple(one.document for one in kept.values() if one.document is not None),
        letters=tuple(one.letter for one in found if one.letter is not None),
        duplicates=tuple(
            Duplicate(one.item.source, kept[doc_id].item.source)
            for doc_id, same in copies.items()
            for one in same
            if one is not kept[doc_id]
        ),
        repairs=sum(one.repairs for one in kept.values()),
        dropped=sum(one.dropped for one in kept.values()),
    )


def _with_splits(found: Sequence[Opened], recipe: IngestRecipe, *, has_dev: bool) -> Iterator[Opened]:
    """The documents that could be opened, each with the split that it ends in."""
    for one in found:
        if one.document is None:
            continue
        split = _split(one.item.split, _split_key(one.item.source, recipe.split_by) or one.document.doc_id, recipe, has_dev=has_dev)
        yield replace(one, item=replace(one.item, split=split), document=replace(one.document, split=split))


def _split_key(source: str, split_by: str) -> str:
    """What documents of one split have in common in their names; empty where a name says nothing."""
    found = re.match(split_by, source.rpartition("/")[2]) if split_by else None
    return (found[1] or "") if found else ""


def _split(given: str, key: str, recipe: IngestRecipe, *, has_dev: bool) -> str:
    """The set's own split; by the hash of `key` where it has none, or has no dev split to take from train."""
    share = int(hashlib.sha256(f"split {key}".encode()).hexdigest()[:8], 16) / 2**32
    if given in ("dev", "test") or (given and has_dev):
        return given
    if share < recipe.dev_share:
        return "dev"
    return "test" if not given and share < recipe.dev_share + recipe.test_share else "train"


def _doc_id(one: Opened) -> str:
    assert one.document is not None
    return one.document.doc_id
