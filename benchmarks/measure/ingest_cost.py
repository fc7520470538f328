"""Overhead of ingest beside OCR: from whole runs with a known OCR time, and from its steps one by one."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from layoutray import readers
from layoutray.document import Page
from layoutray.errors import DocumentError, Reason
from layoutray.prepare.manifest import IngestRun, make_manifest
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import PageTask
from layoutray.prepare.plan import make_plan
from layoutray.prepare.recognise import make_word_source, open_document, recognise_page
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store import sources
from layoutray.store.dead_letter import DeadLetter

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestTiming:
    """One run over new pictures.

    Attributes:
        first: seconds until the first page is done: opening documents, starting workers, reading one page.
        seconds: of the whole run.
        again: seconds of a rerun, in which every page is already done.
        ocr: seconds of OCR for one page in an otherwise idle process.
    """

    pages: int
    workers: int
    first: float
    seconds: float
    again: float
    ocr: float

    @property
    def seconds_per_page(self) -> float:
        """Worker seconds per page, including the start of the workers."""
        return self.seconds * self.workers / self.pages

    @property
    def steady_seconds_per_page(self) -> float:
        """Worker seconds per page after the first page, when the other workers are about to finish their first one."""
        return (self.seconds - self.first) * self.workers / (self.pages - self.workers)

    @property
    def overhead(self) -> float:
        """Worker seconds per page after the first page, without OCR."""
        return self.steady_seconds_per_page - self.ocr


def step_seconds(source: str, out: str, recipe: IngestRecipe) -> dict[str, float]:
    """Seconds per page of each step of an ingest except OCR, for the one-page documents in `source`, in this process.

    Pages are committed in full shards; an ingest commits fewer pages at a time towards its end. Writes below the empty
    folder `out`, and writes as many dead letters as pages.
    """
    taken: dict[str, float] = {}

    def timed(step: str, run: Callable[[], Result]) -> Result:
        started = time.perf_counter()
        result = run()
        taken[step] = time.perf_counter() - started
        return result

    output, failed = Output(sources.join(out, "read")), Output(sources.join(out, "failed"))
    items = timed("listed", lambda: list(readers.load(recipe.reader).discover(source)))
    with make_word_source(recipe.reader, recipe.words, recipe.recognition) as by:
        open_document(by, items[0])  # its process is started by then
        opened = timed("documents opened", lambda: [open_document(by, item) for item in items])
        plan = timed("planned", lambda: make_plan(opened, recipe, set_splits=()))
        page = recognise_page(by, plan.page_tasks[0])
    assert isinstance(page, Page), page
    timed("pictures read", lambda: [sources.read_bytes(unit.reference.image) for unit in plan.page_tasks])
    pages = [
        replace(page, doc_id=unit.doc_id, source=unit.reference.source, image=unit.reference.image)
        for unit in plan.page_tasks
    ]
    timed("pages committed", lambda: _commit(output, plan.page_tasks, pages, recipe.pages_per_shard))
    letters = [_letter(unit) for unit in plan.page_tasks]
    timed("dead letters committed", lambda: _commit(failed, plan.page_tasks, letters, recipe.pages_per_shard))
    timed("ledger read (what is done)", output.done)
    timed("folder reconciled", lambda: output.reconcile(plan))
    timed("manifest counted", lambda: make_manifest(source, output, plan, recipe, IngestRun(len(pages), 1.0, 1)))
    return {step: seconds / len(pages) for step, seconds in taken.items()}


def _commit(output: Output, units: Sequence[PageTask], results: Sequence[Page | DeadLetter], size: int) -> None:
    for start in range(0, len(units), size):
        output.commit(units[start : start + size], results[start : start + size])


def _letter(unit: PageTask) -> DeadLetter:
    error = DocumentError(Reason.ENGINE_ERROR, "benchmark", stage="ocr")
    return DeadLetter.of(error, unit.reference.source, doc_id=unit.doc_id, page_id=unit.page_id, page=unit.page)
