"""The account of an ingest: what went in, what came out, and that nothing is missing."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from layoutray import __version__, config
from layoutray.prepare.output import Output, rows
from layoutray.prepare.plan import settings_hash
from layoutray.prepare.units import Plan
from layoutray.recipe import IngestRecipe
from layoutray.store import shards
from layoutray.store.schema import DEAD_LETTERS, PAGES

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

    `documents_in` = `documents_out` + `documents_dead` + duplicates; `pages_in` = `pages_out` + `pages_dead`.

    Attributes:
        source: folder or bucket that was read.
        duplicates: files with the bytes of another one, each with the one that was used.
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

    def write(self, root: str) -> str:
        """Write `manifest.json` into `root`; returns its URI."""
        text = json.dumps(asdict(self) | {"pages_per_second": round(self.run.pages_per_second, 3)}, indent=2, ensure_ascii=False)
        return shards.write_bytes(text.encode(), root, NAME)


def manifest_of(source: str, output: Output, plan: Plan, recipe: IngestRecipe, run: Run) -> Manifest:
    """The manifest, counted from what lies in the folder and not from what workers said."""
    wanted = pc.field("page_id").isin(pa.array([unit.page_id for unit in plan.units], pa.string()))
    pages = rows(output.pages, PAGES, ["words_from", "engine", "engine_version", "split"], wanted).to_pylist()
    dead = rows(output.dead_letters, DEAD_LETTERS, ["reason"], wanted)["reason"].to_pylist()
    reasons = Counter(dead) + Counter(letter.reason for letter in plan.letters)
    manifest = Manifest(
        source=source,
        documents_in=len(plan.documents) + len(plan.letters) + len(plan.duplicates),
        documents_out=len(plan.documents),
        documents_dead=len(plan.letters),
        duplicates=[asdict(duplicate) for duplicate in plan.duplicates],
        pages_in=len(plan.units),
        pages_out=len(pages),
        pages_dead=len(dead),
        reasons=_counts(reasons.elements()),
        words_from=_counts(row["words_from"] for row in pages),
        engines=_counts(f"{row['engine']} {row['engine_version']}" for row in pages if row["engine"]),
        splits=_counts(row["split"] for row in pages),
        known_from_train=_known_from_train(output.pages, wanted) if pages else 0,
        box_repairs=plan.repairs,
        words_dropped=plan.dropped,
        rows=rows(output.pages, PAGES, ["page"]).num_rows,
        settings=config.to_dict(recipe),
        settings_hash=settings_hash(recipe),
        version=__version__,
        run=run,
    )
    assert manifest.pages_in == manifest.pages_out + manifest.pages_dead, f"pages do not add up: {manifest}"
    return manifest


def _known_from_train(folder: str, wanted: pc.Expression) -> int:
    splits: dict[bytes, Counter[str]] = defaultdict(Counter)
    for table in shards.scan(folder, PAGES, ["words", "split"], wanted):
        for words, split in zip(table["words"].to_pylist(), table["split"].to_pylist(), strict=True):
            if words:
                splits[hashlib.sha256("\0".join(words).encode()).digest()][split] += 1
    return sum(found.total() - found["train"] for found in splits.values() if found["train"])


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())
