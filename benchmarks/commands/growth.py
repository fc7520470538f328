"""Cost that grows with the number of pages: processor time, memory and disk of each step of ingest that sees all pages.

Every document is a picture of one page, listed by an S3 server on the loopback interface. No document is read: the
result of opening it is generated. A rerun of an ingest lists the files, recalls the opened documents (which lists the
files again for their times), plans, and does the steps from `shards listed` on, with every page done.
"""

import argparse
import gc
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

from benchmarks.measure.generated_pages import random_pages, renamed
from benchmarks.measure.object_store import listed_store
from layoutray.cli.shared import terminal
from layoutray.document import Document
from layoutray.errors import InputError
from layoutray.prepare.discovery import find_documents
from layoutray.prepare.manifest import IngestRun, make_manifest
from layoutray.prepare.opened_before import OpenedBefore
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import OpenedDocument, PageTask, Plan
from layoutray.prepare.plan import make_plan
from layoutray.prepare.record_codecs import OPENED_DOCUMENT
from layoutray.readers import DocumentRef
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store import shards
from layoutray.store.spilled import SpilledList
from layoutray.tracking import runs
from layoutray.tracking.reporter import MlflowReporter

_MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class GrowthCost:
    """Cost of one step for a million pages or reports.

    Attributes:
        unit: what is counted: pages, or reports of three metrics.
        seconds: processor time of all threads, which does not include other work on the machine.
        memory_gib: growth of the resident memory during the step.
        peak_gib: peak of the resident memory so far, minus that before the first step.
        disk_gib: written to disk.
    """

    step: str
    unit: str
    seconds: float
    memory_gib: float
    peak_gib: float
    disk_gib: float = 0.0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks growth", description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000, help="number of pages, one per document")
    parser.add_argument("--words", type=int, default=200, help="words of each page")
    parser.add_argument("--reports", type=int, default=1_000, help="reports of a training to MLflow in SQLite")
    options = parser.parse_args(arguments)
    for name in ("pages", "words", "reports"):
        if getattr(options, name) < 1:
            raise InputError(f"--{name} is {getattr(options, name)}; it must be at least 1")
    with tempfile.TemporaryDirectory() as scratch:
        # Warm-up: the first use of a library has costs that later uses do not have.
        _costs(Path(scratch) / "warm-up", 64, options.words, 10)
        costs = _costs(Path(scratch) / "measured", options.pages, options.words, options.reports)
    rows = [
        (
            cost.step,
            cost.unit,
            *(f"{value:.2f}" for value in (cost.seconds, cost.memory_gib, cost.peak_gib, cost.disk_gib)),
        )
        for cost in costs
    ]
    terminal.show_table(
        "Per million", ("step", "unit", "core seconds", "memory, GiB", "peak memory so far, GiB", "disk, GiB"), rows
    )
    sys.stdout.write(json.dumps([asdict(cost) for cost in costs]) + "\n")
    return 0


def _costs(folder: Path, pages: int, words: int, reports: int) -> list[GrowthCost]:
    return [*_of_pages(Output(str(folder)), pages, words), _of_reports(folder / "mlflow.db", reports)]


def _of_pages(output: Output, count: int, words: int) -> list[GrowthCost]:
    recipe, measured = IngestRecipe(reader="folder"), partial(_measured, count, _resident())
    plan, costs = _planned(output, count, recipe, measured)
    _, writing = measured(
        "shards written", lambda: _write(plan.page_tasks, output.pages, words, recipe.pages_per_shard)
    )
    disk = sum(file.stat().st_size for file in Path(output.pages).iterdir())
    _, reconciling = measured("folder reconciled", lambda: output.reconcile(plan))
    _, listing = measured("shards listed", lambda: shards.shards(output.pages))
    done, asking = measured("ledger read (what is done)", output.done)
    _, comparing = measured("remaining pages found", lambda: done.remaining_pages(plan))
    _, again = measured("folder reconciled again", lambda: output.reconcile(plan))
    _, counting = measured(
        "manifest counted", lambda: make_manifest(output.folder, output, plan, recipe, IngestRun(count, 1.0, 1))
    )
    written = replace(writing, disk_gib=disk * _MILLION / count / 2**30)
    return [*costs, written, reconciling, listing, asking, comparing, again, counting]


def _planned(
    output: Output,
    count: int,
    recipe: IngestRecipe,
    measured: Callable[[str, Callable[[], Any]], tuple[Any, GrowthCost]],
) -> tuple[Plan, list[GrowthCost]]:
    """The plan, and the costs of the steps up to it; the lists of files and opened documents are freed."""
    with listed_store(count) as root:
        found, listing = measured("files listed in a bucket", lambda: find_documents(root, recipe))
        opened, opening = measured("documents opened", lambda: _opened(found.references))
        _, keeping = measured("opened documents kept", lambda: OpenedBefore.load(output, root, recipe).store(opened))
        recalled, recalling = measured(
            "unchanged files recalled", lambda: _recalled(OpenedBefore.load(output, root, recipe), found.references)
        )
    assert recalled == opened
    del recalled
    plan, planning = measured("plan", lambda: make_plan(opened, recipe, set_splits=found.splits))
    return plan, [listing, opening, keeping, recalling, planning]


def _opened(items: Iterable[DocumentRef]) -> Sequence[OpenedDocument]:
    opened = SpilledList(OPENED_DOCUMENT)
    opened.extend(
        OpenedDocument(
            reference=item,
            document=Document(doc_id=f"{number:064x}", source=item.source, split="", num_pages=1),
            pages=(1,),
        )
        for number, item in enumerate(items)
    )
    return opened


def _recalled(before: OpenedBefore, items: Iterable[DocumentRef]) -> Sequence[OpenedDocument]:
    opened = SpilledList(OPENED_DOCUMENT)
    opened.extend(one for item in items if (one := before.recall(item)))
    return opened


def _of_reports(store: Path, count: int) -> GrowthCost:
    run = runs.create_run(f"sqlite:///{store}", "growth", "growth", {}, {})
    before = store.stat().st_size

    def report() -> None:
        reporter = MlflowReporter(run)
        for step in range(count):
            reporter.metrics(step, {"loss": 1.0, "learning_rate": 1.0, "tokens_per_second": 1.0})
        reporter.flush()

    _, cost = _measured(count, _resident(), "MLflow", report)
    return replace(
        cost,
        unit="reports",
        peak_gib=cost.memory_gib,
        disk_gib=(store.stat().st_size - before) * _MILLION / count / 2**30,
    )


def _measured(count: int, start: int, step: str, run: Callable[[], Any]) -> tuple[Any, GrowthCost]:
    """The result of `run` and its cost; `start` is the resident memory in bytes before the first step."""
    gc.collect()
    before, started = _resident(), time.process_time()
    result = run()
    seconds = time.process_time() - started
    kept = max(_resident() - before, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - start
    memory_gib, peak_gib = (size * _MILLION / count / 2**30 for size in (kept, peak))
    return result, GrowthCost(
        step=step, unit="pages", seconds=seconds * _MILLION / count, memory_gib=memory_gib, peak_gib=peak_gib
    )


def _resident() -> int:
    """Resident memory of this process in bytes."""
    return psutil.Process().memory_info().rss


def _write(units: Sequence[PageTask], folder: str, words: int, shard_size: int) -> None:
    pages = random_pages(shard_size, words)
    rest = iter(units)
    while part := list(islice(rest, shard_size)):
        values = {
            "page_id": [unit.page_id for unit in part],
            "doc_id": [unit.doc_id for unit in part],
            "split": [unit.reference.split for unit in part],
            "source": [unit.reference.source for unit in part],
        }
        shards.write(renamed(pages, values), folder, shards.part_name(values["page_id"]))
