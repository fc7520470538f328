"""The account of an ingest: what went in, what came out, and that nothing is missing."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from layoutray import __version__, config
from layoutray.errors import InputError, SchemaError
from layoutray.prepare.output import Output, scan, splits_of
from layoutray.prepare.page_tasks import Plan
from layoutray.prepare.plan import settings_hash
from layoutray.recipe import IngestRecipe
from layoutray.store import shards, sources
from layoutray.store.schema import DEAD_LETTERS, PAGES
from layoutray.store.spilled import SpilledDict

NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class Run:
    """What one run did.

    Attributes:
        pages: done by this run, failed ones included; the rest was there already.
        seconds: from the call to the last shard.
        workers: processes that worked on pages.
    """

    pages: int
    seconds: float
    workers: int

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Manifest:
    """Counts of one ingest, over all runs into its folder.

    `documents_in` = `documents_out` + `documents_dead` + duplicates + `without_picture`; `pages_in` = `pages_out` + `pages_dead`.

    Attributes:
        source: folder or bucket that was read.
        duplicates: files with the bytes of another one, each with the one that was used.
        without_picture: documents that the set ships no picture of, where words come by OCR.
        reasons: dead letters by reason code, whole documents and pages.
        words_from: pages by where their words came from.
        engines: pages by OCR engine and version.
        splits: pages by split.
        known_from_train: pages of dev and test with word for word the text of a training page.
        box_repairs: boxes of annotations that were put in order or cut to the page.
        words_dropped: annotated words that were left out.
        rows: PAGES rows in the folder, those of other sources included.
    """

    source: str
    documents_in: int
    documents_out: int
    documents_dead: int
    duplicates: list[dict[str, str]]
    without_picture: int
    pages_in: int
    pages_out: int
    pages_dead: int
    reasons: dict[str, int]
    words_from: dict[str, int]
    engines: dict[str, int]
    splits: dict[str, int]
    known_from_train: int
    box_repairs: int
    words_dropped: int
    rows: int
    settings: dict[str, Any]
    settings_hash: str
    version: str
    run: Run

    @classmethod
    def read(cls, root: str) -> Self:
        """The manifest in `root`.

        Raises:
            InputError: when there is none.
            SchemaError: when another version wrote it.
        """
        where = sources.join(root, NAME)
        if not sources.exists(where):
            raise InputError(f"{root} has no {NAME}; point to a folder that `layoutray ingest` has filled to the end")
        try:
            values = json.loads(sources.read_bytes(where))
            del values["pages_per_second"]
            return cls(**values | {"run": Run(**values["run"])})
        except (ValueError, KeyError, TypeError) as error:
            raise SchemaError(
                f"{where} is not what this version writes ({error}); run `layoutray ingest` again, which counts anew"
            ) from error

    def recipe(self) -> IngestRecipe:
        """What the folder was made by. Raises SchemaError when this version gives its pages other identities."""
        recipe = config.build(IngestRecipe, self.settings)
        if settings_hash(recipe) != self.settings_hash:
            raise SchemaError(
                f"version {self.version} made the pages of {self.source} by rules that have changed; run `layoutray ingest` again"
            )
        return recipe

    @property
    def dead_rate(self) -> float:
        """Share of pages that are dead letters; a document that could not be opened counts as one page."""
        dead = self.pages_dead + self.documents_dead
        return dead / max(self.pages_in + self.documents_dead, 1)

    def write(self, root: str) -> str:
        """Write `manifest.json` into `root`; returns its URI."""
        text = json.dumps(
            asdict(self) | {"pages_per_second": round(self.run.pages_per_second, 3)}, indent=2, ensure_ascii=False
        )
        return shards.write_bytes(text.encode(), root, NAME)


def manifest_of(source: str, output: Output, plan: Plan, recipe: IngestRecipe, run: Run) -> Manifest:
    """The manifest, counted from what lies in the folder and not from what workers said."""
    planned = splits_of(plan.units)
    pages = _count(output.pages, planned)
    dead = Counter(row["reason"] for row in _planned_rows(output.dead_letters, DEAD_LETTERS, ["reason"], planned))
    reasons = dead + Counter(letter.reason for letter in plan.letters)
    manifest = Manifest(
        source=source,
        documents_in=len(plan.documents) + len(plan.letters) + len(plan.duplicates) + len(plan.without_picture),
        documents_out=len(plan.documents),
        documents_dead=len(plan.letters),
        duplicates=[asdict(duplicate) for duplicate in plan.duplicates],
        without_picture=len(plan.without_picture),
        pages_in=len(plan.units),
        pages_out=pages.words_from.total(),
        pages_dead=dead.total(),
        reasons=dict(reasons.most_common()),
        words_from=dict(pages.words_from.most_common()),
        engines=dict(pages.engines.most_common()),
        splits=dict(pages.splits.most_common()),
        known_from_train=_known_from_train(output.pages, planned),
        box_repairs=plan.repairs,
        words_dropped=plan.dropped,
        rows=sum(table.num_rows for table in scan(output.pages, PAGES, ["page"])),
        settings=config.to_dict(recipe),
        settings_hash=settings_hash(recipe),
        version=__version__,
        run=run,
    )
    assert manifest.pages_in == manifest.pages_out + manifest.pages_dead, f"pages do not add up: {manifest}"
    return manifest


@dataclass(frozen=True, slots=True)
class _Pages:
    """Pages of a plan by what there is to say of them."""

    words_from: Counter[str] = field(default_factory=Counter)
    engines: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)


def _count(folder: str, planned: SpilledDict[str]) -> _Pages:
    pages = _Pages()
    for row in _planned_rows(folder, PAGES, ["words_from", "engine", "engine_version", "split"], planned):
        pages.words_from[row["words_from"]] += 1
        pages.splits[row["split"]] += 1
        if row["engine"]:
            pages.engines[f"{row['engine']} {row['engine_version']}"] += 1
    return pages


def _planned_rows(
    folder: str,
    schema: pa.Schema,
    columns: Sequence[str],
    planned: SpilledDict[str],
    among: pc.Expression | None = None,
) -> Iterator[dict[str, Any]]:
    rows = chain.from_iterable(table.to_pylist() for table in scan(folder, schema, ["page_id", *columns], among))
    return (row for row in rows if row["page_id"] in planned)


def _known_from_train(folder: str, planned: SpilledDict[str]) -> int:
    # Held-out pages are few: only their texts are kept while those of the training pages pass by.
    held_out = Counter(_texts(folder, planned, pc.field("split") != "train"))
    if not held_out:
        return 0
    found = {text for text in _texts(folder, planned, pc.field("split") == "train") if text in held_out}
    return sum(held_out[text] for text in found)


def _texts(folder: str, planned: SpilledDict[str], among: pc.Expression) -> Iterator[bytes]:
    """Hash of the words of each page that has some."""
    for row in _planned_rows(folder, PAGES, ["words"], planned, among):
        if row["words"]:
            yield hashlib.sha256("\0".join(row["words"]).encode()).digest()
