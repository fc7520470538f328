"""Ingest over the cluster: documents are opened, their pages recognised and committed, by as many workers as there are cores.

Only addresses of files go through Ray's object store, those of some pages for each worker at a time; each worker reads the bytes itself.
What there is to do lies on the driver's disk. A batch is committed by the worker that made it, under a name that follows from its pages, so
a batch that Ray repeats replaces itself. What a killed run has committed stays; the next run plans the same pages, finds those done, and
does the rest.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import ray.data
from ray.data import ActorPoolStrategy
from ray.exceptions import RayTaskError

from layoutray import readers
from layoutray.cluster.connect import connect, num_workers
from layoutray.cluster.meters import IngestMeter
from layoutray.cluster.page_worker import DocumentOpener, PageWorker
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.errors import InputError, LayoutrayError
from layoutray.prepare import plan_storage
from layoutray.prepare.manifest import Manifest, Run, manifest_of
from layoutray.prepare.opened_before import OpenedBefore
from layoutray.prepare.output import Done, Output
from layoutray.prepare.page_tasks import OpenedDocument, PageTask, Plan, items_table, opened_of, units_table
from layoutray.prepare.plan import apply_measured_split, plan_of
from layoutray.prepare.recognise import ATTEMPTS, lane, open_item
from layoutray.readers import DocumentRef
from layoutray.recipe import IngestRecipe
from layoutray.store.spilled import SpilledDict, SpilledList

_OPENED_HERE = 1000
"""Up to so many documents are opened by this process: that takes less time than to start workers for it."""
_OPENED_TOGETHER = 256
_WAVE = 1000
"""Pages or documents for each worker that Ray is given at a time. To start its workers anew takes some seconds, these many minutes."""
_SMALLEST_WAVE = 32_000


@dataclass(frozen=True, slots=True)
class Found:
    """What a recipe takes of a data set.

    Attributes:
        items: its documents, in a stable order.
        splits: that the set has itself.
        without_picture: sources of those left out because OCR has nothing to look at.
    """

    items: Sequence[DocumentRef]
    splits: Collection[str]
    without_picture: Sequence[str]


def ingest(
    root: str,
    out: str,
    recipe: IngestRecipe,
    *,
    limit: int | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] = ignore_progress,
) -> Manifest:
    """Ingest the data set below `root` into folder `out`, and return its manifest (also in `out/manifest.json`).

    Args:
        limit: only the first so many documents.
        workers: processes that do pages; one for each core of the connected cluster by default.

    Raises:
        InputError: when there is nothing to ingest.
        SchemaError: when `out` holds something else.
        OSError: when `out` cannot be written to; what was committed stays, and the next run does the rest.
    """
    started = time.monotonic()
    chosen = workers or num_workers()
    output = Output(out)
    output.clear_half_written()
    done = output.done()
    plan = plan_for(root, recipe, limit=limit, output=output, progress=progress)
    pages = run_plan(plan, done, output, recipe, chosen, progress)
    manifest = manifest_of(root, output, plan, recipe, Run(pages, time.monotonic() - started, chosen))
    manifest.write(out)
    return manifest


def plan_for(
    root: str,
    recipe: IngestRecipe,
    *,
    limit: int | None = None,
    output: Output | None = None,
    progress: Callable[[Progress], None] = ignore_progress,
) -> Plan:
    """Open the documents below `root` and plan their pages. Many documents are opened by the cluster's workers.

    Args:
        limit: only the first so many documents.
        output: where earlier runs have kept what need not be opened again, and this one does.
    """
    found = find(root, recipe, limit)
    if output:
        opened = open_changed(found.items, recipe, output, root, progress)
    else:
        opened = plan_storage.opened_by_item(open_all(found.items, recipe, progress))
    # Workers answer in any order; which of two copies is used must not depend on that.
    in_order = (opened[plan_storage.item_key(item)] for item in found.items)
    return plan_of(in_order, recipe, own=found.splits, without_picture=found.without_picture)


def find(root: str, recipe: IngestRecipe, limit: int | None = None) -> Found:
    """The documents below `root` that `recipe` takes, of those with something to read the first `limit`. Raises InputError without any."""
    items, without_picture = plan_storage.items(), SpilledList[str](str, str)
    splits: set[str] = set()
    for listed in readers.load(recipe.reader).discover(root):
        item = apply_measured_split(listed, recipe)
        if item is None or not fnmatch(item.source.rpartition("/")[2], recipe.only):
            continue
        splits.add(item.split)
        if recipe.words == "ocr" and not item.image:
            without_picture.append(item.source)
        elif limit is None or len(items) < limit:
            items.append(item)
    if not splits:
        whole = "" if recipe.measured == "test" else f", the set's test left out (measured = {recipe.measured!r})"
        raise InputError(
            f"no document below {root!r} has a name like {recipe.only!r}{whole}; change `only`, or point to another folder"
        )
    if not items and limit != 0:
        raise InputError(
            f"none of the {len(without_picture)} documents below {root!r} comes with a picture; ingest the set with words = 'annotation'"
        )
    return Found(items, splits, without_picture)


def open_changed(
    items: Iterable[DocumentRef], recipe: IngestRecipe, output: Output, root: str, progress: Callable[[Progress], None]
) -> SpilledDict[OpenedDocument]:
    """As `open_all`, but for what `output` knows of files below `root` that are what they were; by `item_key`."""
    before, changed, opened = OpenedBefore.of(output, root, recipe), plan_storage.items(), plan_storage.opened_by_item()
    for item in items:
        known = before.recall(item)
        if known is None:
            changed.append(item)
        else:
            opened[plan_storage.item_key(item)] = known
    for one in open_all(changed, recipe, progress):
        opened[plan_storage.item_key(one.item)] = one
    if changed:
        before.keep(opened[plan_storage.item_key(item)] for item in changed)
    return opened


def open_all(
    items: Sequence[DocumentRef], recipe: IngestRecipe, progress: Callable[[Progress], None] = ignore_progress
) -> Iterator[OpenedDocument]:
    """What opening each of the documents tells, in any order."""
    opened = _open_here(items, recipe) if len(items) <= _OPENED_HERE else _open_there(items, recipe)
    for count, one in enumerate(opened, start=1):
        progress(Progress("open", count, len(items)))
        yield one


def remaining_pages(plan: Plan, done: Done) -> Sequence[PageTask]:
    """The pages of `plan` that are not `done`."""
    todo = plan_storage.units()
    todo.extend(unit for unit in plan.units if unit not in done)
    return todo


def run_plan(
    plan: Plan, done: Done, output: Output, recipe: IngestRecipe, workers: int, progress: Callable[[Progress], None]
) -> int:
    """Do the pages of `plan` that are not `done`, and bring `output` to what the plan says. Returns how many pages were to do."""
    todo = remaining_pages(plan, done)
    meter = IngestMeter()
    meter.dead([letter.reason for letter in plan.letters])
    if todo:
        receipts = _recognise(todo, output.root, recipe, min(workers, len(todo)))
        _follow(receipts, Progress("recognise", 0, len(todo), len(plan.units) - len(todo)), progress, meter)
    output.reconcile(plan)
    return len(todo)


def batch_sizes(count: int, workers: int, largest: int) -> Iterator[int]:
    """How work is cut so that all workers end together: a share of what is left each time, down to single pages."""
    while count:
        size = min(largest, max(1, count // (3 * workers)))
        yield size
        count -= size


def _open_here(items: Sequence[DocumentRef], recipe: IngestRecipe) -> Iterator[OpenedDocument]:
    with lane(recipe.reader, recipe.words, recipe.recognition) as by:
        for item in items:
            yield open_item(by, item)


def _open_there(items: Sequence[DocumentRef], recipe: IngestRecipe) -> Iterator[OpenedDocument]:
    with connect():
        workers, found = num_workers(), iter(items)
        for wave in _waves(len(items), workers):
            tables = [items_table(islice(found, size)) for size in batch_sizes(wave, workers, _OPENED_TOGETHER)]
            for opened in _mapped(tables, DocumentOpener, _lane_of(recipe), workers):
                yield from opened_of(opened)


def _recognise(units: Sequence[PageTask], out: str, recipe: IngestRecipe, workers: int) -> Iterator[pa.Table]:
    pages = iter(units)
    for wave in _waves(len(units), workers):
        tables = [units_table(islice(pages, size)) for size in batch_sizes(wave, workers, recipe.pages_per_shard)]
        yield from _mapped(tables, PageWorker, {**_lane_of(recipe), "out": out}, workers)


def _waves(count: int, workers: int) -> Iterator[int]:
    largest = max(_SMALLEST_WAVE, _WAVE * workers)
    return (min(largest, count - start) for start in range(0, count, largest))


def _lane_of(recipe: IngestRecipe) -> dict[str, Any]:
    return {"reader": recipe.reader, "words": recipe.words, "recognition": recipe.recognition}


def _mapped(tables: Sequence[pa.Table], worker: type, arguments: dict[str, Any], workers: int) -> Iterator[pa.Table]:
    """Rows out of `workers` actors that take one table at a time. Raises the LayoutrayError or OSError that a worker raised."""
    source = ray.data.from_blocks(list(tables))
    # A row is handed on as soon as it is there: for the progress bar, and as a sign of life. The slowest to tell of is one page or document
    # whose attempts all take as long as they may.
    source.context.target_max_block_size = 1
    source.context.execution_no_progress_timeout_s += ATTEMPTS * arguments["recognition"].tesseract.deadline
    mapped = source.map_batches(
        worker,
        batch_size=None,
        batch_format="pyarrow",
        zero_copy_batch=True,
        fn_constructor_kwargs=arguments,
        compute=ActorPoolStrategy(size=min(workers, len(tables)), max_tasks_in_flight_per_actor=2),
        num_cpus=0.9,
    )
    try:
        yield from mapped.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
    except RayTaskError as error:
        if isinstance(error.cause, LayoutrayError | OSError):
            raise error.cause from None
        raise


def _follow(
    receipts: Iterator[pa.Table], start: Progress, progress: Callable[[Progress], None], meter: IngestMeter
) -> None:
    done = start.done
    progress(start)
    meter.done(done, waiting=start.total - done)
    for table in receipts:
        finished = list(chain.from_iterable(table["reasons"].to_pylist()))
        done += len(finished)
        reasons = [reason for reason in finished if reason]
        start.failures.update(reasons)
        meter.dead(reasons)
        meter.done(len(finished), waiting=start.total - done)
        progress(Progress(start.stage, done, start.total, start.skipped, start.failures))
