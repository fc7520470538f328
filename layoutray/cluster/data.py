"""Ingest over the cluster: documents are opened, their pages recognised and committed, by as many workers as there are cores.

Only addresses of files go through Ray's object store; each worker reads the bytes itself. A batch is committed by the
worker that made it, under a name that follows from its pages, so a batch that Ray repeats replaces itself. What a killed
run has committed stays; the next run plans the same pages, finds those done, and does the rest.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import chain
from typing import Any

import pyarrow as pa
import ray.data
from ray.data import ActorPoolStrategy
from ray.exceptions import RayTaskError

from layoutray import readers
from layoutray.cluster.connect import connect, num_workers
from layoutray.cluster.meters import IngestMeter
from layoutray.cluster.page_worker import DocumentOpener, PageWorker
from layoutray.cluster.progress import Progress, unseen
from layoutray.errors import InputError, LayoutrayError
from layoutray.prepare.manifest import Manifest, Run, manifest_of
from layoutray.prepare.opened_before import OpenedBefore
from layoutray.prepare.output import Done, Output
from layoutray.prepare.plan import plan_of
from layoutray.prepare.recognise import ATTEMPTS, lane, open_item
from layoutray.prepare.units import Opened, Plan, Unit, items_table, opened_of, units_table
from layoutray.readers import Item
from layoutray.recipe import IngestRecipe

_OPENED_HERE = 1000
"""Up to so many documents are opened by this process: that takes less time than to start workers for it."""
_OPENED_TOGETHER = 256


@dataclass(frozen=True, slots=True)
class Found:
    """What a recipe takes of a data set.

    Attributes:
        items: its documents, in a stable order.
        splits: that the set has itself.
        without_picture: sources of those left out because OCR has nothing to look at.
    """

    items: tuple[Item, ...]
    splits: frozenset[str]
    without_picture: tuple[str, ...]


def ingest(
    root: str,
    out: str,
    recipe: IngestRecipe,
    *,
    limit: int | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] = unseen,
) -> Manifest:
    """Ingest the data set below `root` into folder `out`, and return its manifest (also in `out/manifest.json`).

    Args:
        limit: only the first so many documents.
        workers: processes that do pages; one for each core of the connected cluster by default.

    Raises:
        InputError: when there is nothing to ingest.
        SchemaError: when `out` holds something else.
    """
    started = time.monotonic()
    chosen = workers or num_workers()
    output = Output(out)
    output.clear_half_written()
    done = output.done()
    plan = plan_for(root, recipe, limit=limit, output=output, progress=progress)
    pages = carry_out(plan, done, output, recipe, chosen, progress)
    manifest = manifest_of(root, output, plan, recipe, Run(pages, time.monotonic() - started, chosen))
    manifest.write(out)
    return manifest


def plan_for(
    root: str,
    recipe: IngestRecipe,
    *,
    limit: int | None = None,
    output: Output | None = None,
    progress: Callable[[Progress], None] = unseen,
) -> Plan:
    """Open the documents below `root` and plan their pages. Many documents are opened by the cluster's workers.

    Args:
        limit: only the first so many documents.
        output: where earlier runs have kept what need not be opened again, and this one does.
    """
    found = find(root, recipe)
    items = found.items[:limit]
    opened = open_changed(items, recipe, output, root, progress) if output else open_all(items, recipe, progress)
    # Workers answer in any order; which of two copies is used must not depend on that.
    return plan_of((opened[item] for item in items), recipe, own=found.splits, without_picture=found.without_picture)


def find(root: str, recipe: IngestRecipe) -> Found:
    """The documents below `root` that `recipe` takes. Raises InputError when there are none."""
    named = [item for item in readers.load(recipe.reader).discover(root) if fnmatch(item.source.rpartition("/")[2], recipe.only)]
    if not named:
        raise InputError(f"no document below {root!r} has a name like {recipe.only!r}; change `only`, or point to another folder")
    items = [item for item in named if item.image or recipe.words != "ocr"]
    if not items:
        raise InputError(
            f"none of the {len(named)} documents below {root!r} comes with a picture; ingest the set with words = 'annotation'"
        )
    without_picture = [item.source for item in named if not item.image] if recipe.words == "ocr" else []
    return Found(tuple(items), frozenset(item.split for item in named), tuple(without_picture))


def open_changed(
    items: Sequence[Item], recipe: IngestRecipe, output: Output, root: str, progress: Callable[[Progress], None]
) -> dict[Item, Opened]:
    """As `open_all`, but for what `output` knows of files below `root` that are what they were."""
    before = OpenedBefore.of(output, root, recipe)
    opened = before.recall(items)
    changed = [item for item in items if item not in opened]
    if changed:
        opened |= open_all(changed, recipe, progress)
        before.keep(opened.values())
    return opened


def open_all(items: Sequence[Item], recipe: IngestRecipe, progress: Callable[[Progress], None] = unseen) -> dict[Item, Opened]:
    """What opening each of the documents tells."""
    opened: dict[Item, Opened] = {}
    for one in _open_here(items, recipe) if len(items) <= _OPENED_HERE else _open_there(items, recipe):
        opened[one.item] = one
        progress(Progress("open", len(opened), len(items)))
    return opened


def carry_out(plan: Plan, done: Done, output: Output, recipe: IngestRecipe, workers: int, progress: Callable[[Progress], None]) -> int:
    """Do the pages of `plan` that are not `done`, and bring `output` to what the plan says. Returns how many pages were to do."""
    todo = [unit for unit in plan.units if unit not in done]
    meter = IngestMeter()
    meter.dead([letter.reason for letter in plan.letters])
    if todo:
        receipts = _recognise(todo, output.root, recipe, min(workers, len(todo)))
        _follow(receipts, Progress("recognise", 0, len(todo), len(plan.units) - len(todo)), progress, meter)
    output.settle(plan)
    return len(todo)


def batches(units: Sequence[Unit], workers: int, largest: int) -> Iterator[Sequence[Unit]]:
    """Cut the work so that all workers end together: a share of what is left each time, down to single pages."""
    start = 0
    while start < len(units):
        size = min(largest, max(1, (len(units) - start) // (3 * workers)))
        yield units[start : start + size]
        start += size


def _open_here(items: Sequence[Item], recipe: IngestRecipe) -> Iterator[Opened]:
    with lane(recipe.reader, recipe.words, recipe.recognition) as by:
        for item in items:
            yield open_item(by, item)


def _open_there(items: Sequence[Item], recipe: IngestRecipe) -> Iterator[Opened]:
    tables = [items_table(items[start : start + _OPENED_TOGETHER]) for start in range(0, len(items), _OPENED_TOGETHER)]
    with connect():
        for opened in _mapped(tables, DocumentOpener, _lane_of(recipe), num_workers()):
            yield from opened_of(opened)


def _recognise(units: Sequence[Unit], out: str, recipe: IngestRecipe, workers: int) -> Iterator[pa.Table]:
    tables = [units_table(batch) for batch in batches(units, workers, recipe.pages_per_shard)]
    return _mapped(tables, PageWorker, {**_lane_of(recipe), "out": out}, workers)


def _lane_of(recipe: IngestRecipe) -> dict[str, Any]:
    return {"reader": recipe.reader, "words": recipe.words, "recognition": recipe.recognition}


def _mapped(tables: Sequence[pa.Table], worker: type, arguments: dict[str, Any], workers: int) -> Iterator[pa.Table]:
    """Rows out of `workers` actors that take one table at a time. Raises the LayoutrayError that a worker raised."""
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
        if isinstance(error.cause, LayoutrayError):
            raise error.cause from None
        raise


def _follow(receipts: Iterator[pa.Table], start: Progress, progress: Callable[[Progress], None], meter: IngestMeter) -> None:
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
