"""Which pages there are to do, decided before any is done: identities, splits, duplicates."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from layoutray import config
from layoutray.prepare.units import Duplicate, Opened, Plan, Unit
from layoutray.readers import Item
from layoutray.recipe import IngestRecipe

_PREFERRED = {"test": 0, "dev": 1, "train": 2}
"""Of two copies of a document, the one held back for measuring stays: nothing leaks from it into training."""


def settings_hash(recipe: IngestRecipe) -> str:
    """Short hash of everything in `recipe` that decides what a page row says.

    Not of which pages are done, or how many together; nor of the names that go into a split, as rows are compared with their splits.
    """
    # As a recipe file gives it: 0 may stand for 0.0 in Python, and is the same setting.
    typed = config.build(IngestRecipe, config.to_dict(recipe))
    values = {key: value for key, value in config.to_dict(typed).items() if key not in ("only", "splits", "pages_per_shard")}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def page_id(doc_id: str, number: int, annotation: str, settings: str) -> str:
    """Identity of a page's row: the document's bytes, the page, and the hashes of what else decides its words and tags."""
    return hashlib.sha256(f"{doc_id} {number} {annotation} {settings}".encode()).hexdigest()[:32]


def plan_of(opened: Iterable[Opened], recipe: IngestRecipe, *, own: Collection[str], without_picture: Sequence[str] = ()) -> Plan:
    """The plan for documents in the order in which they were found.

    Args:
        own: the splits that the set has itself.
        without_picture: as in `Plan`.
    """
    found = list(opened)
    settings = settings_hash(recipe)
    copies: dict[str, list[Opened]] = {}
    for one in _with_splits(found, recipe, own):
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
        without_picture=tuple(without_picture),
    )


def _with_splits(found: Sequence[Opened], recipe: IngestRecipe, own: Collection[str]) -> Iterator[Opened]:
    """The documents that could be opened, each with the split that it ends in."""
    for one in found:
        if one.document is not None:
            split = _split(one.item, one.document.doc_id, recipe, own)
            yield replace(one, item=replace(one.item, split=split), document=replace(one.document, split=split))


def _split(item: Item, doc_id: str, recipe: IngestRecipe, own: Collection[str]) -> str:
    """The set's own split, the recipe's for such names, or one by hash where the set has none, or has no dev split to take from train."""
    if item.split in ("dev", "test"):
        return item.split
    name = item.source.rpartition("/")[2]
    for split, pattern in recipe.splits.items():
        if split not in own and re.match(pattern, name):
            return split
    if item.split and "dev" in own:
        return item.split
    share = int(hashlib.sha256(f"split {_split_key(name, recipe.split_by) or doc_id}".encode()).hexdigest()[:8], 16) / 2**32
    if share < recipe.dev_share:
        return "dev"
    return "test" if not item.split and share < recipe.dev_share + recipe.test_share else "train"


def _split_key(name: str, split_by: str) -> str:
    """What documents of one split have in common in their names; empty where a name says nothing."""
    found = re.match(split_by, name) if split_by else None
    return (found[1] or "") if found else ""


def _doc_id(one: Opened) -> str:
    assert one.document is not None
    return one.document.doc_id
