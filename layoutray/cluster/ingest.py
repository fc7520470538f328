"""Ingest on the cluster, in three steps: plan the pages, process them, count the result.

1. `plan_ingest` finds and opens the documents and lists one page task for each page. Documents are opened by this
   process if they are few, else by the workers.
2. `run_plan` sends the page tasks that no earlier run has processed to the workers. A worker reads the files itself and
   commits its batch under a name made from the page tasks, so a batch that Ray repeats replaces itself.
3. `make_manifest` counts the rows in the folder.

Shards that a killed run has committed stay. The next run plans the same pages and processes only the missing ones.
References and page tasks are on the driver's disk; Ray's object store holds a few batches per worker.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from layoutray.cluster.connect import connect, num_workers
from layoutray.cluster.meters import IngestMeter
from layoutray.cluster.page_worker import DocumentOpener, PageWorker
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.cluster.worker_pool import WorkerPool
from layoutray.prepare import record_codecs
from layoutray.prepare.discovery import find_documents
from layoutray.prepare.manifest import IngestRun, Manifest, make_manifest
from layoutray.prepare.opened_before import OpenedBefore
from layoutray.prepare.output import Done, Output
from layoutray.prepare.page_tasks import OpenedDocument, PageTask, Plan
from layoutray.prepare.plan import make_plan
from layoutray.prepare.recognise import ATTEMPTS, make_word_source, open_document
from layoutray.prepare.record_codecs import DOCUMENT_REF, OPENED_DOCUMENT, PAGE_TASK, reference_key
from layoutray.readers import DocumentRef
from layoutray.recipe import IngestRecipe
from layoutray.store.spilled import SpilledDict, SpilledList

_OPENED_IN_PROCESS = 1000
"""Up to this number, opening documents in this process is faster than starting workers."""
_DOCUMENTS_PER_BATCH = 256

Listener = Callable[[Progress], None]


def ingest(
    root: str,
    out: str,
    recipe: IngestRecipe,
    *,
    limit: int | None = None,
    workers: int | None = None,
    progress: Listener = ignore_progress,
) -> Manifest:
    """Ingest the documents below `root` into the data set `out`, and return its manifest (also in `out/manifest.json`).

    Args:
        limit: largest number of documents.
        workers: number of worker processes; default: one for each core of the cluster.

    Raises:
        InputError: if there is no document to ingest.
        SchemaError: if `out` contains tables of another kind.
        OSError: if `out` cannot be written. Committed shards stay, and the next run processes the missing pages.
    """
    started = time.monotonic()
    workers = workers or num_workers()
    output = Output(out)
    output.clear_half_written()
    done = output.done()
    plan = plan_ingest(root, recipe, limit=limit, output=output, progress=progress)
    pages = run_plan(plan, done, output, recipe, workers, progress)
    manifest = make_manifest(root, output, plan, recipe, IngestRun(pages, time.monotonic() - started, workers))
    manifest.write(out)
    return manifest


def plan_ingest(
    root: str,
    recipe: IngestRecipe,
    *,
    limit: int | None = None,
    output: Output | None = None,
    progress: Listener = ignore_progress,
) -> Plan:
    """Step 1: find and open the documents below `root`, and plan their pages.

    Args:
        limit: largest number of documents.
        output: data set that stores which documents need not be opened again; None opens all and stores nothing.
    """
    found = find_documents(root, recipe, limit)
    if output:
        opened = open_changed_documents(found.references, recipe, output, root, progress)
    else:
        opened = _by_reference(open_documents(found.references, recipe, progress))
    # Workers answer in any order. The plan must not depend on it, for example in which of two copies it uses.
    in_order = (opened[reference_key(reference)] for reference in found.references)
    return make_plan(in_order, recipe, set_splits=found.splits, without_picture=found.without_picture)


def open_changed_documents(
    references: Iterable[DocumentRef], recipe: IngestRecipe, output: Output, root: str, progress: Listener
) -> SpilledDict[OpenedDocument]:
    """Open the documents that `output` does not know or that have changed. Returns all documents, by `reference_key`."""
    before = OpenedBefore.load(output, root, recipe)
    changed, opened = SpilledList(DOCUMENT_REF), SpilledDict(OPENED_DOCUMENT)
    for reference in references:
        recalled = before.recall(reference)
        if recalled is None:
            changed.append(reference)
        else:
            opened[reference_key(reference)] = recalled
    for result in open_documents(changed, recipe, progress):
        opened[reference_key(result.reference)] = result
    if changed:
        before.store(opened[reference_key(reference)] for reference in changed)
    return opened


def open_documents(
    references: SpilledList[DocumentRef], recipe: IngestRecipe, progress: Listener = ignore_progress
) -> Iterator[OpenedDocument]:
    """Open documents, in any order."""
    in_process = len(references) <= _OPENED_IN_PROCESS
    opened = _open_in_process(references, recipe) if in_process else _open_in_workers(references, recipe)
    for count, result in enumerate(opened, start=1):
        progress(Progress("open", count, len(references)))
        yield result


def run_plan(plan: Plan, done: Done, output: Output, recipe: IngestRecipe, workers: int, progress: Listener) -> int:
    """Step 2: process the pages of `plan` that are not `done`, and reconcile `output` with the plan.

    Returns:
        The number of pages processed.
    """
    tasks = remaining_pages(plan, done)
    meter = IngestMeter()
    meter.dead([letter.reason for letter in plan.letters])
    if tasks:
        receipts = _process_pages(tasks, output, recipe, min(workers, len(tasks)))
        start = Progress("recognise", 0, len(tasks), len(plan.page_tasks) - len(tasks))
        _report(receipts, start, progress, meter)
    output.reconcile(plan)
    return len(tasks)


def remaining_pages(plan: Plan, done: Done) -> SpilledList[PageTask]:
    """The page tasks of `plan` that are not `done`."""
    tasks = SpilledList(PAGE_TASK)
    tasks.extend(task for task in plan.page_tasks if task not in done)
    return tasks


def _by_reference(opened: Iterable[OpenedDocument]) -> SpilledDict[OpenedDocument]:
    by_reference = SpilledDict(OPENED_DOCUMENT)
    for result in opened:
        by_reference[reference_key(result.reference)] = result
    return by_reference


def _open_in_process(references: Iterable[DocumentRef], recipe: IngestRecipe) -> Iterator[OpenedDocument]:
    with make_word_source(recipe.reader, recipe.words, recipe.recognition) as words:
        for reference in references:
            yield open_document(words, reference)


def _open_in_workers(references: SpilledList[DocumentRef], recipe: IngestRecipe) -> Iterator[OpenedDocument]:
    with connect():
        pool = WorkerPool(
            DocumentOpener, _word_source_arguments(recipe), num_workers(), _DOCUMENTS_PER_BATCH, _deadline(recipe)
        )
        for table in pool.map(references):
            yield from record_codecs.from_table(table, OPENED_DOCUMENT)


def _process_pages(
    tasks: SpilledList[PageTask], output: Output, recipe: IngestRecipe, workers: int
) -> Iterator[pa.Table]:
    arguments = {**_word_source_arguments(recipe), "out": output.folder}
    return WorkerPool(PageWorker, arguments, workers, recipe.pages_per_shard, _deadline(recipe)).map(tasks)


def _word_source_arguments(recipe: IngestRecipe) -> dict[str, Any]:
    return {"reader": recipe.reader, "words": recipe.words, "recognition": recipe.recognition}


def _deadline(recipe: IngestRecipe) -> float:
    """Seconds for one page or document whose attempts all take as long as they may."""
    return ATTEMPTS * recipe.recognition.tesseract.deadline


def _report(receipts: Iterator[pa.Table], start: Progress, progress: Listener, meter: IngestMeter) -> None:
    done = start.done
    progress(start)
    meter.done(done, waiting=start.total - done)
    for table in receipts:
        page_reasons = list(chain.from_iterable(table["reasons"].to_pylist()))
        failures = [reason for reason in page_reasons if reason]
        done += len(page_reasons)
        start.failures.update(failures)
        meter.dead(failures)
        meter.done(len(page_reasons), waiting=start.total - done)
        progress(Progress(start.stage, done, start.total, start.skipped, start.failures))
