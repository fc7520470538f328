"""One round of the review loop: train, answer, review, train again, promote, and what the endpoint answers."""

import contextlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote

import numpy as np
from playwright.sync_api import ViewportSize, expect, sync_playwright

from benchmarks.measure.document_subset import write_data_set_of
from benchmarks.measure.endpoint_score import Labelled, field_counts
from benchmarks.measure.keystrokes import Hands
from benchmarks.measure.local_server import started
from benchmarks.measure.reviewer import Retyper, Reviewer, ReviewTime, TrueDocument, TrueValue
from benchmarks.training_runs import Runs, schedule
from layoutray.document import Document, Page
from layoutray.document.field_type import FieldType
from layoutray.document.tags import spans
from layoutray.errors import InputError, LayoutrayError
from layoutray.metrics.item_counts import ItemCounts
from layoutray.prepare.tag_fields import tag_fields
from layoutray.prepare.whole_documents import whole_documents
from layoutray.readers.own.reviewed import REVIEW_FILE
from layoutray.recipe import recipes
from layoutray.store.data_set import DataSet
from layoutray.tasks import fields_of

_MODEL = "reviewed"
_WINDOW: ViewportSize = {"width": 1280, "height": 1000}
_PATIENCE = 120_000
"""Milliseconds that a page may take on a busy machine."""


def browser_program() -> str:
    """The path of Chromium. Raises InputError when there is none."""
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        raise InputError("there is no chromium-headless-shell or chromium on PATH; run `make chromium`")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """What all rounds share.

    Attributes:
        recipe: of fine-tuning, with [task.fields].
        pages: data set of documents with values of the recipe's fields.
        start: checkpoint that both trainings start from.
        first: documents of the first training.
        more: documents that are reviewed.
        steps: of each training.
        overrides: `KEY=VALUE` assignments to recipe keys.
    """

    recipe: str
    pages: Path
    start: Path
    first: int
    more: int
    steps: int
    overrides: Sequence[str]

    @property
    def schema(self) -> Mapping[str, FieldType]:
        """Types of the fields."""
        return fields_of(recipes.load(self.recipe, self.overrides).task)


class ReviewRound:
    """The round of one seed, in a folder of its own. Steps whose result is there are not repeated."""

    def __init__(self, runs: Runs, settings: LoopSettings, seed: int) -> None:
        self._runs = runs
        self._settings = settings
        self._seed = seed
        self._folder = runs.out / f"seed-{seed}"
        self._store = ["--tracking-uri", f"sqlite:///{self._folder / 'mlflow.db'}"]

    def run(self) -> dict[str, float]:
        """All steps. Returns the F1 of the endpoint `before` and `after` the review."""
        self._folder.mkdir(exist_ok=True)
        self._once("chosen", self._choose)
        self._train("first", ["labelled"])
        self._once("predict", lambda: self._verb("predict", self._at("first", "unlabelled", "--out", "answers")))
        self._once("review", lambda: self._review("answers", Reviewer))
        self._once("retype", self._retype)
        words = ["ingest-reviewed", *self._at("answers", "reviewed"), "--set", "dev_share=0"]
        self._once("ingest", lambda: self._verb("ingest", words))
        self._train("second", ["labelled", "reviewed"])
        if not self._path("after.json").is_file():
            self._serve_both()
        sums = {name: np.sum(self.counts(name), axis=0) for name in ("before", "after")}
        return {
            name: float(2 * correct / (expected + answered)) for name, (correct, expected, answered) in sums.items()
        }

    def counts(self, name: str) -> list[ItemCounts]:
        """Counts of the values of each test document: `before` or `after` the review."""
        return [ItemCounts(*counts) for counts in self._read(name)]

    def time(self, way: str) -> ReviewTime:
        """The time of `review` or of `retype`."""
        return ReviewTime(**self._read(way))

    def report(self) -> dict[str, Any]:
        """Times, and the comparison of `promote`."""
        times = {way: asdict(self.time(way)) for way in ("review", "retype")}
        return {"times": times, "promote": self._read("promote")}

    def _choose(self) -> list[str]:
        """Write the data sets `labelled` and `unlabelled`, of random documents of train."""
        pages, first, more = self._settings.pages, self._settings.first, self._settings.more
        documents = DataSet(str(pages)).read_documents()
        known = sorted(one.doc_id for one in documents if one.split == "train" and one.fields)
        if first + more > len(known):
            raise InputError(f"--first and --more need {first + more} documents; {pages} has {len(known)} in train")
        chosen = Random(self._seed).sample(known, first + more)
        for name, doc_ids in (("labelled", chosen[:first]), ("unlabelled", chosen[first:])):
            write_data_set_of(doc_ids, pages, self._path(name))
        return chosen

    def _train(self, name: str, data_sets: Sequence[str]) -> None:
        """Train on data sets and register the checkpoint."""
        keys = {
            **schedule(self._settings.steps),
            "train.evaluate_every": 0,
            "seed": self._seed,
            "tokenizer.path": self._settings.start.absolute(),
        }
        assignments = [*(f"{key}={value}" for key, value in keys.items()), *self._settings.overrides]
        settings = [argument for assignment in assignments for argument in ("--set", assignment)]
        recipe, windows = self._settings.recipe, f"{name}-windows"
        encode = [recipe, *self._at(*data_sets, "--out", windows), *settings]
        self._once(f"encode-{name}", lambda: self._verb("encode", encode))
        start = ["--init", str(self._settings.start.absolute()), "--register", _MODEL, *self._store]
        finetune = [recipe, *self._at(windows, "--out", name), *start, *settings]
        self._once(f"finetune-{name}", lambda: self._verb("finetune", finetune))

    def _review(self, answers: str, kind: Callable[..., Reviewer], pages: str = "unlabelled") -> dict[str, Any]:
        """The time that a script needs for the documents of a folder of answers.

        Args:
            pages: the data set that was answered.
        """
        arguments = [*self._at(answers, "--pages", pages), "--sample", "0", "--reviewer", "script"]
        log_file = self._path(f"{answers}.log")
        with started("review", arguments, "/", log_file) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_program(), args=["--no-sandbox"])
            with contextlib.closing(browser):
                page = browser.new_page(base_url=url, viewport=_WINDOW)
                page.set_default_timeout(_PATIENCE)
                expect.set_options(timeout=_PATIENCE)
                return asdict(kind(Hands(page), self._truths(pages), self._settings.schema).review_all())

    def _retype(self) -> dict[str, Any]:
        """The same documents again, without the review."""
        copy = self._path("retyped")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._path("answers"), copy, ignore=shutil.ignore_patterns(f"{REVIEW_FILE}*"))
        return self._review(copy.name, Retyper)

    def _serve_both(self) -> None:
        """What the endpoint answers before and after the promotion, without a restart."""
        arguments = [f"models:/{_MODEL}@champion", "--follow-every", "2", *self._store]
        with started("serve", arguments, "/readyz", self._path("serve.log")) as url:
            self._once("before", lambda: self._score(url, "1"))
            self._promote()
            version = "2" if self._read("promote")["promoted"] else "1"
            self._once("after", lambda: self._score(url, version))

    def _promote(self) -> None:
        """Promote the second model if it is not worse on the dev documents. The report says whether it was."""
        report = self._path("promote.json")
        arguments = [_MODEL, "--on", str(self._settings.pages), "--json", str(report), *self._store]
        try:
            self._verb("promote", arguments)
        except LayoutrayError:  # it also ends like this when it refuses, and then there is a report
            if not report.is_file():
                raise

    def _score(self, url: str, version: str) -> list[ItemCounts]:
        documents = DataSet(str(self._settings.pages)).read_documents()
        wanted = {one.doc_id for one in documents if one.split == "test" and one.fields}
        tests: list[Labelled] = [
            (pages, one.fields) for one, pages in self._documents(self._settings.pages, wanted) if pages
        ]
        return field_counts(url, tests, self._settings.schema, version)

    def _truths(self, pages: str) -> dict[str, TrueDocument]:
        """The documents to review, by the names that the page shows."""
        unlabelled = self._path(pages)
        wanted = {one.doc_id for one in DataSet(str(unlabelled)).read_documents()}
        return {
            unquote(one.source.rpartition("/")[2]): _true_document(one, pages, self._settings.schema)
            for one, pages in self._documents(unlabelled, wanted)
        }

    def _documents(self, folder: Path, wanted: set[str]) -> list[tuple[Document, list[Page]]]:
        return sorted(whole_documents([DataSet(str(folder))], wanted), key=lambda pair: pair[0].doc_id)

    def _verb(self, verb: str, arguments: Sequence[str]) -> None:
        self._runs.verb(verb, self._path(f"{verb}.log"), *arguments)

    def _at(self, *arguments: str) -> list[str]:
        """Arguments with names of this folder as paths; options stay as they are."""
        return [argument if argument.startswith("--") else str(self._path(argument)) for argument in arguments]

    def _once(self, name: str, measure: Callable[[], object]) -> None:
        """Write what `measure` gives as JSON, if it is not there."""
        if not self._path(f"{name}.json").is_file():
            self._write(name, measure())

    def _write(self, name: str, content: object) -> None:
        self._path(f"{name}.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def _read(self, name: str) -> Any:
        return json.loads(self._path(f"{name}.json").read_text(encoding="utf-8"))

    def _path(self, name: str) -> Path:
        return self._folder / name


def _true_document(document: Document, pages: Sequence[Page], schema: Mapping[str, FieldType]) -> TrueDocument:
    """The values of a document, each with the words of its first occurrence on the first page."""
    tagged = tag_fields(pages, document.fields, schema).pages[0]
    words: dict[str, tuple[int, ...]] = {}
    for name, start, end in spans([word.tag for word in tagged.words]):
        words.setdefault(name, tuple(range(start, end)))
    values = {field.name: TrueValue(field.value, words.get(field.name, ())) for field in document.fields}
    return TrueDocument(pages[0], {name: value for name, value in values.items() if name in schema})
