"""Ingest on the cluster, in three steps: plan the pages, process them, count the result.

1. `plan_ingest` finds and opens the documents and lists one page task for each page.
2. `run_plan` sends the page tasks that no earlier run has processed to the workers. A worker reads the files itself and
   commits its batch under a name made from the page tasks, so a batch that Ray repeats replaces itself.
3. `make_manifest` counts the rows in the folder.

Shards that a killed run has committed stay. The next run plans the same pages and processes only the missing ones.
References and page tasks are on the driver's disk; Ray's object store holds a few batches per worker.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import chain
from typing import Any

import pyarrow as pa

from layoutray.cluster.connect import connect, num_workers
from layoutray.cluster.meters import IngestMeter
from layoutray.cluster.page_worker import DocumentOpener, PageWorker
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.cluster.worker_pool import map_records
from layoutray.prepare import read_before
from layoutray.prepare.discovery import find_documents
from layoutray.prepare.language import with_language
from layoutray.prepare.manifest import IngestRun, Manifest, make_manifest
from layoutray.prepare.opened_before import OpenedBefore
from layoutray.prepare.output import Done, Output
from layoutray.prepare.page_tasks import OpenedDocument, Plan
from layoutray.prepare.plan import make_plan
from layoutray.prepare.recognise import ATTEMPTS, check_engine, make_word_source, open_document
from layoutray.prepare.record_codecs import DOCUMENT_REF, OPENED_DOCUMENT, from_table, reference_key
from layoutray.readers import DocumentRef
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.spilled import SpilledDict, SpilledList

_OPENED_IN_PROCESS = 1000
"""Up to this number, opening documents in this process is faster than starting workers."""
_DOCUMENTS_PER_BATCH = 256


def ingest(
    root: str,
    out: str,
    recipe: IngestRecipe,
    *,
    limit: int | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] = ignore_progress,
) -> Manifest:
    """Ingest the documents below `root` into the data set `out`, and return its manifest (also in `out/manifest.json`).

    Starts Ray, or joins a cluster, only for reading pages: what is wrong with recipe or source is found before.

    Args:
        limit: largest number of documents.
        workers: number of worker processes; default: one for each core of the cluster.

    Raises:
        InputError: if there is no document to ingest, or no text from which `language = "auto"` can be decided.
        MissingDependencyError: if the OCR engine lacks a language or model.
        SchemaError: if `out` contains tables of another kind.
        OSError: if `out` cannot be written. Committed shards stay, and the next run processes the missing pages.
    """
    started = time.monotonic()
    output = Output(out)
    recipe, decision = with_language(recipe, root, output)
    if decision:
        output.write_language(json.dumps(asdict(decision)).encode())
    if recipe.words == "ocr":
        check_engine(recipe.recognition)
    output.clear_half_written()
    done = output.done()
    plan = plan_ingest(root, recipe, limit=limit, output=output, workers=workers, progress=progress)
    with connect(gpus=0):
        workers = workers or num_workers()
        pages = run_plan(plan, done, output, recipe, workers, progress)
    run = IngestRun(pages, time.monotonic() - started, workers)
    manifest = make_manifest(root, output, plan, recipe, run)
    manifest = replace(manifest, language=asdict(decision)) if decision else manifest
    manifest.write(out)
    return manifest


def plan_ingest(
    root: str,
    recipe: IngestRecipe,
    *,
    limit: int | None = None,
    output: Output | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] = ignore_progress,
) -> Plan:
    """Step 1: find and open the documents below `root`, and plan their pages.

    Args:
        limit: largest number of documents.
        output: data set that stores which documents need not be opened again; None opens all and stores nothing.
        workers: number of worker processes; default: one for each core of the cluster.
    """
    found = find_documents(root, recipe, limit)
    before = OpenedBefore.load(output, root, recipe) if output else None
    opened = open_documents(found.references, recipe, progress, workers, before)
    # Workers answer in any order. The plan must not depend on it, for example in which of two copies it uses.
    in_order = (opened[reference_key(reference)] for reference in found.references)
    return make_plan(in_order, recipe, set_splits=found.splits, without_picture=found.without_picture)


def open_documents(
    references: SpilledList[DocumentRef],
    recipe: IngestRecipe,
    progress: Callable[[Progress], None],
    workers: int | None = None,
    before: OpenedBefore | None = None,
) -> SpilledDict[OpenedDocument]:
    """Open documents: only those that are new or have changed, in this process or in the workers.

    Args:
        before: documents that need not be opened again if they have not changed. What is opened is added to them.

    Returns:
        All documents by `reference_key`, recalled or opened.
    """
    changed, opened = SpilledList(DOCUMENT_REF), SpilledDict(OPENED_DOCUMENT)
    for reference in references:
        recalled = before and before.recall(reference)
        if recalled:
            opened[reference_key(reference)] = recalled
        else:
            changed.append(reference)
    for count, result in enumerate(_opened(changed, recipe, workers), start=1):
        opened[reference_key(result.reference)] = result
        progress(Progress(stage="open", done=count, total=len(changed)))
    if before and changed:
        before.store(opened[reference_key(reference)] for reference in changed)
    return opened


def _opened(
    references: SpilledList[DocumentRef], recipe: IngestRecipe, workers: int | None
) -> Iterator[OpenedDocument]:
    if len(references) <= _OPENED_IN_PROCESS:
        with make_word_source(recipe.reader, recipe.words, recipe.recognition) as words:
            for reference in references:
                yield open_document(words, reference)
        return
    with connect(gpus=0):
        workers = workers or num_workers()
        for table in _mapped(references, DocumentOpener, recipe, workers, _DOCUMENTS_PER_BATCH):
            yield from from_table(table, OPENED_DOCUMENT)


def _mapped(
    records: SpilledList[Any], actor: type, recipe: IngestRecipe, workers: int, batch_size: int, **more: str
) -> Iterator[pa.Table]:
    """The tables of the actors of an ingest. `more`: arguments of their constructor besides those that all have."""
    arguments = {"reader": recipe.reader, "words": recipe.words, "recognition": recipe.recognition, **more}
    deadline = ATTEMPTS * recipe.recognition.deadline
    return map_records(records, actor, arguments, workers=workers, batch_size=batch_size, deadline=deadline)


def run_plan(
    plan: Plan,
    done: Done,
    output: Output,
    recipe: IngestRecipe,
    workers: int,
    progress: Callable[[Progress], None],
) -> int:
    """Step 2: process the pages of `plan` that are not `done`, and reconcile `output`. Returns their number."""
    tasks = done.remaining_pages(plan)
    meter = IngestMeter()
    meter.dead([letter.reason for letter in plan.letters])
    if tasks:
        tasks = read_before.recall(tasks, output, recipe.recognition) if recipe.words == "ocr" else tasks
        latest = Progress(stage="recognise", done=0, total=len(tasks), skipped=len(plan.page_tasks) - len(tasks))
        progress(latest)
        meter.done(0, waiting=latest.total)
        workers = min(workers, len(tasks))
        for table in _mapped(tasks, PageWorker, recipe, workers, recipe.pages_per_shard, out=output.folder):
            reasons = list(chain.from_iterable(table["reasons"].to_pylist()))  # empty for a success
            failures = [reason for reason in reasons if reason]
            # A worker that replaces a killed one groups its results anew. Ray forwards only the rows behind those that
            # it has, so that some results may be counted twice or not at all before the end.
            count = min(latest.done + len(reasons), latest.total)
            latest = replace(latest, done=count, failures=latest.failures + Counter(failures))
            meter.dead(failures)
            meter.done(len(reasons), waiting=latest.total - latest.done)
            progress(latest)
        if latest.done < latest.total:
            progress(replace(latest, done=latest.total))
    output.reconcile(plan)
    return len(tasks)
