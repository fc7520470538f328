"""What ingest takes beside OCR: from whole runs over pages that take a known time, and its steps one by one."""

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
from layoutray.recipe import IngestRecipe
from layoutray.store import sources
from layoutray.store.dead_letter import DeadLetter

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Ingested:
    """One run over pictures that were not done yet.

    Attributes:
        first: seconds from the call until the first page was there: documents are opened, workers start, one page is read.
        seconds: from the call to the manifest.
        again: seconds of the run after it, which finds every page done.
        ocr: seconds of OCR for one page, in a process with nothing else to do.
    """

    pages: int
    workers: int
    first: float
    seconds: float
    again: float
    ocr: float

    @property
    def whole(self) -> float:
        """Seconds of a worker for a page, the start of the workers included."""
        return self.seconds * self.workers / self.pages

    @property
    def started(self) -> float:
        """The same from the first page on, when the other workers are about to have one too."""
        return (self.seconds - self.first) * self.workers / (self.pages - self.workers)

    @property
    def beside_ocr(self) -> float:
        """Of those seconds from the first page on, what is not OCR."""
        return self.started - self.ocr


def steps(source: str, out: str, recipe: IngestRecipe) -> dict[str, float]:
    """Seconds per page of what an ingest of the one-page documents in `source` does beside OCR, each step for all of them in this process.

    Pages are committed by whole shards; an ingest commits fewer pages together towards its end. Everything is written below the
    empty folder `out`; of dead letters there are as many as of pages.
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
    timed("folder settled", lambda: output.reconcile(plan))
    timed("manifest counted", lambda: make_manifest(source, output, plan, recipe, IngestRun(len(pages), 1.0, 1)))
    return {step: seconds / len(pages) for step, seconds in taken.items()}


def _commit(output: Output, units: Sequence[PageTask], results: Sequence[Page | DeadLetter], at_once: int) -> None:
    for start in range(0, len(units), at_once):
        output.commit(units[start : start + at_once], results[start : start + at_once])


def _letter(unit: PageTask) -> DeadLetter:
    error = DocumentError(Reason.ENGINE_ERROR, "made up", stage="ocr")
    return DeadLetter.of(error, unit.reference.source, doc_id=unit.doc_id, page_id=unit.page_id, page=unit.page)
