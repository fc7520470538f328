"""Ingest on the cluster, in three steps: plan the pages, process them, count the result.

1. `plan_ingest` finds and opens the documents and lists one page task for each page.
2. `run_plan` sends the page tasks that no earlier run has processed to the workers. A worker reads the files itself and
   commits its batch under a name made from the page tasks, so a batch that Ray repeats replaces itself.
3. `make_manifest` counts the rows in the folder.

Shards that a killed run has committed stay. The next run plans the same pages and processes only the missing ones.
References and page tasks are on the driver's disk; Ray's object store holds a few batches per worker.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from layoutray.cluster.connect import num_workers
from layoutray.cluster.meters import IngestMeter
from layoutray.cluster.opening import open_documents
from layoutray.cluster.page_worker import PageWorker
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.cluster.worker_pool import WorkerPool
from layoutray.prepare.discovery import find_documents
from layoutray.prepare.manifest import IngestRun, Manifest, make_manifest
from layoutray.prepare.opened_before import OpenedBefore
from layoutray.prepare.output import Done, Output
from layoutray.prepare.page_tasks import Plan
from layoutray.prepare.plan import make_plan
from layoutray.prepare.recognise import ATTEMPTS
from layoutray.prepare.record_codecs import reference_key
from layoutray.recipe.ingest import IngestRecipe


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
    plan = plan_ingest(root, recipe, limit=limit, output=output, workers=workers, progress=progress)
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


def run_plan(
    plan: Plan,
    done: Done,
    output: Output,
    recipe: IngestRecipe,
    workers: int,
    progress: Callable[[Progress], None],
) -> int:
    """Step 2: process the pages of `plan` that are not `done`, and reconcile `output` with the plan.

    Returns:
        The number of pages processed.
    """
    tasks = done.remaining_pages(plan)
    meter = IngestMeter()
    meter.dead([letter.reason for letter in plan.letters])
    if tasks:
        arguments = {"reader": recipe.reader, "words": recipe.words, "recognition": recipe.recognition}
        arguments["out"] = output.folder
        deadline = ATTEMPTS * recipe.recognition.deadline
        pool = WorkerPool(
            actor=PageWorker,
            arguments=arguments,
            workers=min(workers, len(tasks)),
            batch_size=recipe.pages_per_shard,
            deadline=deadline,
        )
        latest = Progress(stage="recognise", done=0, total=len(tasks), skipped=len(plan.page_tasks) - len(tasks))
        progress(latest)
        meter.done(0, waiting=latest.total)
        for table in pool.map(tasks):
            reasons = list(chain.from_iterable(table["reasons"].to_pylist()))  # empty for a success
            failures = [reason for reason in reasons if reason]
            latest = replace(latest, done=latest.done + len(reasons), failures=latest.failures + Counter(failures))
            meter.dead(failures)
            meter.done(len(reasons), waiting=latest.total - latest.done)
            progress(latest)
    output.reconcile(plan)
    return len(tasks)
