"""Which pages there are to do, decided before any is done: identities, splits, duplicates."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from layoutray import config
from layoutray.prepare import plan_storage
from layoutray.prepare.page_tasks import Duplicate, OpenedDocument, PageTask, Plan
from layoutray.readers import DocumentRef
from layoutray.recipe import IngestRecipe
from layoutray.store.spilled import SpilledDict

_NOT_SAID = ("only", "splits", "measured", "pages_per_shard")
"""Keys of a recipe that no page row depends on."""
_PREFERRED = {"test": 0, "dev": 1, "train": 2}
"""Of two copies of a document, the one held back for measuring stays: nothing leaks from it into training."""


def settings_hash(recipe: IngestRecipe) -> str:
    """Short hash of everything in `recipe` that decides what a page row says.

    Not of which pages are done, or how many together; nor of what goes into a split, as rows are compared with their splits.
    """
    # As a recipe file gives it: 0 may stand for 0.0 in Python, and is the same setting.
    typed = config.build(IngestRecipe, config.to_dict(recipe))
    values = {key: value for key, value in config.to_dict(typed).items() if key not in _NOT_SAID}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def page_id(doc_id: str, number: int, annotation: str, settings: str) -> str:
    """Identity of a page's row: the document's bytes, the page, and the hashes of what else decides its words and tags."""
    return hashlib.sha256(f"{doc_id} {number} {annotation} {settings}".encode()).hexdigest()[:32]


def plan_of(
    opened: Iterable[OpenedDocument], recipe: IngestRecipe, *, own: Collection[str], without_picture: Sequence[str] = ()
) -> Plan:
    """The plan for documents in the order in which they were found. What grows with their number lies on disk.

    Args:
        own: the splits that the set has itself.
        without_picture: as in `Plan`.
    """
    letters, found, copies = plan_storage.letters(), plan_storage.opened(), _Copies()
    for one in opened:
        if one.letter is not None:
            letters.append(one.letter)
        if one.document is not None:
            split = _split(one.item, one.document.doc_id, recipe, own)
            found.append(replace(one, item=replace(one.item, split=split), document=replace(one.document, split=split)))
            copies.add(found[-1], len(found) - 1)
    units, documents, duplicates = plan_storage.units(), plan_storage.documents(), plan_storage.duplicates()
    settings = settings_hash(recipe)
    repairs = dropped = 0
    for number, one in enumerate(found):
        assert one.document is not None
        doc_id = one.document.doc_id
        kept, source = copies.kept(doc_id)
        if kept == number:
            units.extend(
                PageTask(page_id(doc_id, page, one.annotation, settings), doc_id, page, one.item) for page in one.pages
            )
            documents.append(one.document)
            repairs, dropped = repairs + one.repairs, dropped + one.dropped
        else:
            duplicates.append(Duplicate(one.item.source, same_as=source))
    return Plan(units, documents, letters, duplicates, repairs, dropped, without_picture)


class _Copies:
    """Which of the documents with the same bytes is used: the first of those in the split that is preferred."""

    def __init__(self) -> None:
        self._kept: SpilledDict[tuple[int, int, str]] = SpilledDict(json.dumps, lambda text: tuple(json.loads(text)))

    def add(self, one: OpenedDocument, number: int) -> None:
        assert one.document is not None
        rank, before = _PREFERRED[one.item.split], self._kept.get(one.document.doc_id)
        if before is None or rank < before[0]:
            self._kept[one.document.doc_id] = rank, number, one.item.source

    def kept(self, doc_id: str) -> tuple[int, str]:
        """Its number and source."""
        return self._kept[doc_id][1:]


def apply_measured_split(item: DocumentRef, recipe: IngestRecipe) -> DocumentRef | None:
    """With its own split as the recipe takes it; None where the recipe leaves it out."""
    if recipe.measured == "test" or item.split in ("train", ""):
        return item
    return replace(item, split="test") if item.split == recipe.measured else None


def _split(item: DocumentRef, doc_id: str, recipe: IngestRecipe, own: Collection[str]) -> str:
    """The set's own split, the recipe's for such names, or one by hash where the set has none, or has no dev split to take from train."""
    if item.split in ("dev", "test"):
        return item.split
    name = item.source.rpartition("/")[2]
    for split, pattern in recipe.splits.items():
        if split not in own and re.match(pattern, name):
            return split
    if item.split and "dev" in own:
        return item.split
    share = (
        int(hashlib.sha256(f"split {_split_key(name, recipe.split_by) or doc_id}".encode()).hexdigest()[:8], 16) / 2**32
    )
    if share < recipe.dev_share:
        return "dev"
    return "test" if not item.split and share < recipe.dev_share + recipe.test_share else "train"


def _split_key(name: str, split_by: str) -> str:
    """What documents of one split have in common in their names; empty where a name says nothing."""
    found = re.match(split_by, name) if split_by else None
    return (found[1] or "") if found else ""
