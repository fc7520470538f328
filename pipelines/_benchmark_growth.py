"""What grows with the number of pages: processor time, memory and disk of each step that sees all of them, on made-up pages.

They are of one page each, below an s3:// address where a server on the loopback lists as many keys as there are pages. None is read: what
opening a document tells is made up. A rerun lists the files, recalls what opening told of them, which lists them once more for their times,
plans, and does what comes from `shards listed` on: everything is done.
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

import numpy as np
import psutil
import pyarrow as pa

from layoutray import tracking
from layoutray.bench.object_store import listed_store
from layoutray.cli import terminal
from layoutray.cluster.ingest import find, remaining_pages
from layoutray.document import Box, Document, Page, Provenance, Word
from layoutray.errors import InputError
from layoutray.prepare import plan_storage
from layoutray.prepare.manifest import Run, manifest_of
from layoutray.prepare.opened_before import OpenedBefore
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import OpenedDocument, PageTask, Plan
from layoutray.prepare.plan import plan_of
from layoutray.readers import DocumentRef
from layoutray.recipe import IngestRecipe
from layoutray.store import codec, shards
from layoutray.store.schema import PAGES
from layoutray.tracking import MlflowReporter

_MILLION = 1_000_000


@dataclass(frozen=True)
class Cost:
    """Of one step, for a million of what it counts.

    Attributes:
        of: what is counted: pages, or reports of three metrics.
        seconds: of the processor, all threads together: other work on the machine does not count.
        memory_gib: that the process holds more of after the step.
        peak_gib: that it has held at most up to then, less what it held before the first step.
        disk_gib: written.
    """

    step: str
    of: str
    seconds: float
    memory_gib: float
    peak_gib: float
    disk_gib: float = 0.0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark growth", description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000, help="pages to measure on, one a document")
    parser.add_argument("--words", type=int, default=200, help="of each page")
    parser.add_argument("--reports", type=int, default=1_000, help="of a training to MLflow, into SQLite")
    options = parser.parse_args(arguments)
    for name in ("pages", "words", "reports"):
        if getattr(options, name) < 1:
            raise InputError(f"--{name} is {getattr(options, name)}; it must be at least 1")
    with tempfile.TemporaryDirectory() as scratch:
        _costs(
            Path(scratch) / "first", 64, options.words, 10
        )  # the first use of a library costs what later ones do not
        costs = _costs(Path(scratch) / "measured", options.pages, options.words, options.reports)
    rows = [
        (
            cost.step,
            cost.of,
            *(f"{value:.2f}" for value in (cost.seconds, cost.memory_gib, cost.peak_gib, cost.disk_gib)),
        )
        for cost in costs
    ]
    terminal.show_table(
        "For a million", ("step", "of", "core seconds", "GiB of memory", "GiB at most so far", "GiB of disk"), rows
    )
    sys.stdout.write(json.dumps([asdict(cost) for cost in costs]) + "\n")
    return 0


def _costs(folder: Path, pages: int, words: int, reports: int) -> list[Cost]:
    return [*_of_pages(Output(str(folder)), pages, words), _of_reports(folder / "mlflow.db", reports)]


def _of_pages(output: Output, count: int, words: int) -> list[Cost]:
    recipe, measured = IngestRecipe("folder"), partial(_measured, count, _held())
    plan, costs = _planned(output, count, recipe, measured)
    _, writing = measured("shards written", lambda: _write(plan.units, output.pages, words, recipe.pages_per_shard))
    disk = sum(file.stat().st_size for file in Path(output.pages).iterdir())
    _, settling = measured("folder settled", lambda: output.reconcile(plan))
    _, listing = measured("shards listed", lambda: shards.shards(output.pages))
    done, asking = measured("ledger read (what is done)", output.done)
    _, comparing = measured("pages left found", lambda: remaining_pages(plan, done))
    _, again = measured("folder settled again", lambda: output.reconcile(plan))
    _, counting = measured(
        "manifest counted", lambda: manifest_of(output.root, output, plan, recipe, Run(count, 1.0, 1))
    )
    written = replace(writing, disk_gib=disk * _MILLION / count / 2**30)
    return [*costs, written, settling, listing, asking, comparing, again, counting]


def _planned(
    output: Output, count: int, recipe: IngestRecipe, measured: Callable[[str, Callable[[], Any]], tuple[Any, Cost]]
) -> tuple[Plan, list[Cost]]:
    """The plan, all that is left of what was found once there is one."""
    with listed_store(count) as root:
        found, listing = measured("files listed in a bucket", lambda: find(root, recipe))
        opened, opening = measured("documents opened", lambda: _told(found.items))
        _, keeping = measured("what opening told kept", lambda: OpenedBefore.of(output, root, recipe).keep(opened))
        recalled, recalling = measured(
            "unchanged files recalled", lambda: _recalled(OpenedBefore.of(output, root, recipe), found.items)
        )
    assert recalled == opened
    del recalled
    plan, planning = measured("plan", lambda: plan_of(opened, recipe, own=found.splits))
    return plan, [listing, opening, keeping, recalling, planning]


def _told(items: Iterable[DocumentRef]) -> Sequence[OpenedDocument]:
    opened = plan_storage.opened()
    opened.extend(
        OpenedDocument(item, Document(f"{number:064x}", item.source, "", 1), pages=(1,))
        for number, item in enumerate(items)
    )
    return opened


def _recalled(before: OpenedBefore, items: Iterable[DocumentRef]) -> Sequence[OpenedDocument]:
    opened = plan_storage.opened()
    opened.extend(one for item in items if (one := before.recall(item)))
    return opened


def _of_reports(store: Path, count: int) -> Cost:
    run = tracking.create_run(f"sqlite:///{store}", "growth", "growth", {}, {})
    before = store.stat().st_size

    def report() -> None:
        reporter = MlflowReporter(run)
        for step in range(count):
            reporter.metrics(step, {"loss": 1.0, "learning_rate": 1.0, "tokens_per_second": 1.0})
        reporter.flush()

    _, cost = _measured(count, _held(), "MLflow", report)
    return replace(
        cost,
        of="reports",
        peak_gib=cost.memory_gib,
        disk_gib=(store.stat().st_size - before) * _MILLION / count / 2**30,
    )


def _measured(count: int, start: int, step: str, run: Callable[[], Any]) -> tuple[Any, Cost]:
    """What `run` returns and costs; `start` bytes were held before the first step."""
    gc.collect()
    before, started = _held(), time.process_time()
    result = run()
    seconds = time.process_time() - started
    kept = max(_held() - before, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - start
    return result, Cost(
        step, "pages", seconds * _MILLION / count, *(held * _MILLION / count / 2**30 for held in (kept, peak))
    )


def _held() -> int:
    """Bytes of memory that this process holds."""
    return psutil.Process().memory_info().rss


def _write(units: Sequence[PageTask], folder: str, words: int, at_once: int) -> None:
    pages = _pages(at_once, words)
    rest = iter(units)
    while part := list(islice(rest, at_once)):
        table = pages.slice(0, len(part))
        for name, values in (
            ("page_id", [unit.page_id for unit in part]),
            ("doc_id", [unit.doc_id for unit in part]),
            ("split", [unit.item.split for unit in part]),
            ("source", [unit.item.source for unit in part]),
        ):
            table = table.set_column(PAGES.get_field_index(name), PAGES.field(name), pa.array(values, pa.string()))
        shards.write(table, folder, shards.part_name(unit.page_id for unit in part))


def _pages(count: int, words: int) -> pa.Table:
    """Pages of words drawn from a vocabulary of 20,000, each at a place of its own: about as hard to compress as real ones."""
    random = np.random.default_rng(7)
    made: list[Page] = []
    for number in range(count):
        corners = random.uniform(0, 0.9, (words, 2)).tolist()
        texts = random.integers(0, 20_000, words).tolist()
        found = [
            Word(f"word{text}", Box(x, y, x + 0.05, y + 0.02), float(random.uniform(0, 1)), line // 8)
            for line, (text, (x, y)) in enumerate(zip(texts, corners, strict=True))
        ]
        made.append(
            Page(
                str(number),
                1,
                1700,
                2200,
                tuple(found),
                "",
                "",
                "train",
                Provenance("ocr", "made up", "tesseract", "5", "x"),
            )
        )
    return codec.pages_table(made, [str(number) for number in range(count)])


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
