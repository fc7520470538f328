"""The manifest of an ingest: input, output, and the check that no page is missing."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from layoutray import config
from layoutray.document.form_answers import is_drawn
from layoutray.errors import InputError, RecipeError, SchemaError
from layoutray.prepare.output import Output, scan_existing, splits_of
from layoutray.prepare.page_tasks import Plan
from layoutray.prepare.plan import settings_hash
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store import codec, sources
from layoutray.store.data_set import DataSet
from layoutray.store.schema import DEAD_LETTERS, PAGES
from layoutray.store.spilled import SpilledDict
from layoutray.version import VERSION


@dataclass(frozen=True, slots=True)
class IngestRun:
    """Size and duration of one run.

    Attributes:
        pages: pages that this run has processed, failed pages included. Earlier runs have processed the others.
        seconds: time from the call to the last shard.
        workers: number of processes that processed pages.
    """

    pages: int
    seconds: float
    workers: int

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Counts of a data set, over all runs of `ingest` into its folder.

    `documents_in` = `documents_out` + `documents_dead` + duplicates + `without_picture`.
    `pages_in` = `pages_out` + `pages_dead`.

    Attributes:
        source: folder or bucket of the documents.
        duplicates: files with the bytes of another file, each with the file that is used.
        without_picture: number of documents without a picture, where OCR has nothing to read.
        reasons: dead letters of documents and pages, by reason code.
        words_from, engines, splits: pages by origin of their words, by OCR engine and version, and by split.
        known_from_train: pages of dev and test that have exactly the text of a training page.
        box_repairs: boxes of annotations that were put in order or cut to the page.
        words_dropped: words of annotations that were left out.
        rows: all PAGES rows in the folder, including those of other sources.
        settings_hash: see `plan.settings_hash`.
        truth: of labelled data, counts of the labels that were checked; see `TruthCheck.counts`.
        form_fields_differing: form fields that state another value than the page shows: name, page and document.
        run: the latest run.
        language: what `language = "auto"` has decided; see `language.Decision`.
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
    run: IngestRun
    truth: dict[str, Any] = field(default_factory=dict[str, Any])
    form_fields: int = 0
    form_fields_differing: list[str] = field(default_factory=list[str])
    language: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def read(cls, folder: str) -> Self:
        """The manifest of a data set. Raises InputError if there is none, SchemaError if another version wrote it."""
        uri = DataSet(folder).manifest
        if not sources.exists(uri):
            raise InputError(f"{folder} has no manifest.json; give a folder that `layoutray ingest` has completed")
        try:
            values = json.loads(sources.read_bytes(uri))
            del values["pages_per_second"]
            return cls(**values | {"run": IngestRun(**values["run"])})
        except (ValueError, KeyError, TypeError) as error:
            raise SchemaError(
                f"{uri} does not have the keys of this version ({error}); run `layoutray ingest` again to rewrite it"
            ) from error

    def recipe(self) -> IngestRecipe:
        """The recipe of the data set. Raises SchemaError if this version would give its pages other identities."""
        problem = (
            f"version {self.version} gave the pages of {self.source} identities that this version computes "
            "differently; run `layoutray ingest` again"
        )
        try:
            recipe = config.build(IngestRecipe, self.settings)
        except RecipeError as error:
            raise SchemaError(f"{problem} ({error})") from error
        if settings_hash(recipe) != self.settings_hash:
            raise SchemaError(problem)
        return recipe

    @property
    def dead_rate(self) -> float:
        """Share of pages that are dead letters. A document that cannot be opened counts as one page."""
        dead = self.pages_dead + self.documents_dead
        return dead / max(self.pages_in + self.documents_dead, 1)

    def write(self, folder: str) -> None:
        values = asdict(self) | {"pages_per_second": round(self.run.pages_per_second, 3)}
        DataSet(folder).write_manifest(json.dumps(values, indent=2, ensure_ascii=False).encode())


def make_manifest(source: str, output: Output, plan: Plan, recipe: IngestRecipe, run: IngestRun) -> Manifest:
    """Count the rows in `output`. The counts do not rely on what the workers reported."""
    planned = splits_of(plan.page_tasks)
    words_from, engines, splits = Counter[str](), Counter[str](), Counter[str]()
    form_fields, differing = 0, list[str]()
    columns = ["words_from", "engine", "engine_version", "split", "source", "page", "form_fields"]
    for row in _planned_rows(output.pages, PAGES, columns, planned):
        for stated in map(codec.form_field_of, row["form_fields"] or ()):
            form_fields += 1
            if not is_drawn(stated):
                differing.append(f"{stated.name} on page {row['page']} of {row['source']}")
        words_from[row["words_from"]] += 1
        splits[row["split"]] += 1
        if row["engine"]:
            engines[f"{row['engine']} {row['engine_version']}"] += 1
    dead = Counter(row["reason"] for row in _planned_rows(output.dead_letters, DEAD_LETTERS, ["reason"], planned))
    reasons = dead + Counter(letter.reason for letter in plan.letters)
    manifest = Manifest(
        source=source,
        documents_in=len(plan.documents) + len(plan.letters) + len(plan.duplicates) + len(plan.without_picture),
        documents_out=len(plan.documents),
        documents_dead=len(plan.letters),
        duplicates=[asdict(duplicate) for duplicate in plan.duplicates],
        without_picture=len(plan.without_picture),
        pages_in=len(plan.page_tasks),
        pages_out=words_from.total(),
        pages_dead=dead.total(),
        reasons=dict(reasons.most_common()),
        words_from=dict(words_from.most_common()),
        engines=dict(engines.most_common()),
        splits=dict(splits.most_common()),
        known_from_train=_known_from_train(output.pages, planned),
        box_repairs=plan.repairs,
        words_dropped=plan.dropped,
        rows=sum(table.num_rows for table in scan_existing(output.pages, PAGES, ["page"])),
        settings=config.to_dict(recipe),
        settings_hash=settings_hash(recipe),
        version=VERSION,
        run=run,
        form_fields=form_fields,
        form_fields_differing=differing,
    )
    assert manifest.pages_in == manifest.pages_out + manifest.pages_dead, f"page counts disagree: {manifest}"
    return manifest


def _planned_rows(
    folder: str,
    schema: pa.Schema,
    columns: Sequence[str],
    planned: SpilledDict[str],
    filter: pc.Expression | None = None,  # noqa: A002
) -> Iterator[dict[str, Any]]:
    tables = scan_existing(folder, schema, ["page_id", *columns], filter)
    rows = chain.from_iterable(table.to_pylist() for table in tables)
    return (row for row in rows if row["page_id"] in planned)


def _known_from_train(folder: str, planned: SpilledDict[str]) -> int:
    # Only the texts of the held-out pages, which are few, are kept in memory.
    held_out = Counter(_text_hashes(folder, planned, pc.field("split") != "train"))
    if not held_out:
        return 0
    repeated = {text for text in _text_hashes(folder, planned, pc.field("split") == "train") if text in held_out}
    return sum(held_out[text] for text in repeated)


def _text_hashes(folder: str, planned: SpilledDict[str], rows: pc.Expression) -> Iterator[bytes]:
    """Hash of the words of each page that has words."""
    for row in _planned_rows(folder, PAGES, ["words"], planned, rows):
        if row["words"]:
            yield hashlib.sha256("\0".join(row["words"]).encode()).digest()
