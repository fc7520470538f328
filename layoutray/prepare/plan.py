"""The plan of an ingest: identities, splits and duplicates, decided before any page is processed."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace

from layoutray import config
from layoutray.prepare.page_tasks import Duplicate, OpenedDocument, PageTask, Plan
from layoutray.prepare.record_codecs import DEAD_LETTER, DOCUMENT, DUPLICATE, OPENED_DOCUMENT, PAGE_TASK
from layoutray.readers import DocumentRef
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.spilled import JSON, SpilledDict, SpilledList

_NOT_IN_IDENTITY = ("only", "splits", "measured", "pages_per_shard", "from_model")
"""Recipe keys that do not change the content of a PAGES row."""
_SPLITTING = ("dev_share", "test_share", "split_by")
"""Further such keys. The hash has their defaults, as earlier versions had their values in it."""
_SPLIT_RANK = {"test": 0, "dev": 1, "train": 2}
"""Of several copies of a document, the copy in the split of lowest rank is used, so test does not leak into train."""


def settings_hash(recipe: IngestRecipe) -> str:
    """Short hash of all settings in `recipe` that decide the content of a PAGES row.

    Settings that select documents or group pages into shards do not count. Nor do the settings that assign splits: a
    row whose split is another one now is moved.
    """
    # Through the recipe's types: Python code may pass 0 where a recipe file gives 0.0, which is the same setting.
    typed = config.build(IngestRecipe, config.to_dict(recipe))
    plain = replace(typed, **{one.name: one.default for one in fields(typed) if one.name in _SPLITTING})
    values = {key: value for key, value in config.to_dict(plain).items() if key not in _NOT_IN_IDENTITY}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def page_id(doc_id: str, number: int, annotation: str, settings: str) -> str:
    """Identity of a PAGES row. `annotation`: SHA-256 of its bytes; `settings`: `settings_hash` of the recipe."""
    return hashlib.sha256(f"{doc_id} {number} {annotation} {settings}".encode()).hexdigest()[:32]


def make_plan(
    opened: Iterable[OpenedDocument],
    recipe: IngestRecipe,
    *,
    set_splits: Collection[str],
    without_picture: Sequence[str] = (),
) -> Plan:
    """The plan for opened documents, in their order. Everything that grows with the number of documents is on disk.

    Args:
        set_splits: splits that the data set itself defines.
    """
    letters, readable = SpilledList(DEAD_LETTER), SpilledList(OPENED_DOCUMENT)
    # By id, of several documents with the same bytes: rank of the split, number and source of the one that is used.
    used: SpilledDict[tuple[int, int, str]] = SpilledDict(JSON)
    for result in opened:
        if result.letter is not None:
            letters.append(result.letter)
        if result.document is not None:
            doc_id = result.document.doc_id
            split = _split(result.reference, doc_id, recipe, set_splits)
            split = "train" if result.document.partial and split == "dev" else split  # it cannot be measured on
            rank, earlier = _SPLIT_RANK[split], used.get(doc_id)
            if earlier is None or rank < earlier[0]:
                used[doc_id] = rank, len(readable), result.reference.source
            said_by = recipe.from_model if result.document.fields else ""
            document = replace(result.document, split=split, from_model=said_by)
            reference = replace(result.reference, split=split)
            readable.append(replace(result, reference=reference, document=document))
    page_tasks, documents, duplicates = SpilledList(PAGE_TASK), SpilledList(DOCUMENT), SpilledList(DUPLICATE)
    settings = settings_hash(recipe)
    repairs = dropped = 0
    for number, result in enumerate(readable):
        assert result.document is not None
        doc_id = result.document.doc_id
        _, used_number, used_source = used[doc_id]
        if used_number != number:
            duplicates.append(Duplicate(result.reference.source, same_as=used_source))
            continue
        for page in result.pages:
            its_id = page_id(doc_id, page, result.annotation, settings)
            page_tasks.append(PageTask(page_id=its_id, doc_id=doc_id, page=page, reference=result.reference))
        documents.append(result.document)
        repairs, dropped = repairs + result.repairs, dropped + result.dropped
    return Plan(
        page_tasks=page_tasks,
        documents=documents,
        letters=letters,
        duplicates=duplicates,
        repairs=repairs,
        dropped=dropped,
        without_picture=without_picture,
    )


def _split(reference: DocumentRef, doc_id: str, recipe: IngestRecipe, set_splits: Collection[str]) -> str:
    """The split of a document.

    In this order: the set's own dev or test; the recipe's split for the file's name, if the set does not define that
    split; the set's own train, if the set has a dev split; else a split by hash.
    """
    if reference.split in ("dev", "test"):
        return reference.split
    name = reference.source.rpartition("/")[2]
    for split, pattern in recipe.splits.items():
        if split not in set_splits and re.match(pattern, name):
            return split
    if reference.split and "dev" in set_splits:
        return reference.split
    group = re.match(recipe.split_by, name) if recipe.split_by else None
    hashed = hashlib.sha256(f"split {(group and group[1]) or doc_id}".encode()).hexdigest()
    share = int(hashed[:8], 16) / 2**32
    if share < recipe.dev_share:
        return "dev"
    return "test" if not reference.split and share < recipe.dev_share + recipe.test_share else "train"
