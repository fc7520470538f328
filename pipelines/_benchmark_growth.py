"""What grows with the number of pages: processor time, memory and disk of each step that sees all of them, on made-up pages."""

import argparse
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

from layoutray import tracking
from layoutray.document import Box, Document, Page, Provenance, Word
from layoutray.errors import InputError
from layoutray.prepare.manifest import Run, manifest_of
from layoutray.prepare.output import Output
from layoutray.prepare.plan import plan_of
from layoutray.prepare.units import Opened, Unit
from layoutray.readers import Item
from layoutray.recipe import IngestRecipe
from layoutray.store import codec, shards
from layoutray.store.schema import PAGES
from layoutray.tracking import MlflowReporter
from pipelines import _terminal as terminal

_BUCKET = "s3://a-bucket-of-scans/year/month"
_MILLION = 1_000_000


@dataclass(frozen=True)
class Cost:
    """Of one step, for a million of what it counts.

    Attributes:
        of: what is counted: pages, or reports of three metrics.
        seconds: of the processor, all threads together: other work on the machine does not count.
        memory_gib: that the process holds more of after the step; disk_gib: written.
    """

    step: str
    of: str
    seconds: float
    memory_gib: float
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
        _costs(Path(scratch) / "first", 64, options.words, 10)  # the first use of a library costs what later ones do not
        costs = _costs(Path(scratch) / "measured", options.pages, options.words, options.reports)
    rows = [(cost.step, cost.of, f"{cost.seconds:.1f}", f"{cost.memory_gib:.2f}", f"{cost.disk_gib:.2f}") for cost in costs]
    terminal.show_table("For a million", ("step", "of", "core seconds", "GiB of memory", "GiB of disk"), rows)
    sys.stdout.write(json.dumps([asdict(cost) for cost in costs]) + "\n")
    return 0


def _costs(folder: Path, pages: int, words: int, reports: int) -> list[Cost]:
    return [*_of_pages(Output(str(folder)), pages, words), _of_reports(folder / "mlflow.db", reports)]


def _of_pages(output: Output, count: int, words: int) -> list[Cost]:
    recipe = IngestRecipe("folder")
    opened, opening = _measured("documents opened", count, lambda: [_opened(number) for number in range(count)])
    plan, planning = _measured("plan", count, lambda: plan_of(opened, recipe, own=()))
    _, writing = _measured("shards written", count, lambda: _write(plan.units, output.pages, words, recipe.pages_per_shard))
    disk = sum(file.stat().st_size for file in Path(output.pages).iterdir())
    _, listing = _measured("shards listed", count, lambda: shards.shards(output.pages))
    _, asking = _measured("ledger read (what is done)", count, output.done)
    _, settling = _measured("folder settled", count, lambda: output.settle(plan))
    _, counting = _measured("manifest counted", count, lambda: manifest_of(output.root, output, plan, recipe, Run(count, 1.0, 1)))
    written = Cost(writing.step, writing.of, writing.seconds, writing.memory_gib, disk * _MILLION / count / 2**30)
    return [opening, planning, written, listing, asking, settling, counting]


def _of_reports(store: Path, count: int) -> Cost:
    run = tracking.create_run(f"sqlite:///{store}", "growth", "growth", {}, {})
    before = store.stat().st_size

    def report() -> None:
        reporter = MlflowReporter(run)
        for step in range(count):
            reporter.metrics(step, {"loss": 1.0, "learning_rate": 1.0, "tokens_per_second": 1.0})
        reporter.flush()

    _, cost = _measured("MLflow", count, report)
    return Cost(cost.step, "reports", cost.seconds, cost.memory_gib, (store.stat().st_size - before) * _MILLION / count / 2**30)


def _measured(step: str, count: int, run: Callable[[], Any]) -> tuple[Any, Cost]:
    gc.collect()
    process = psutil.Process()
    before, started = process.memory_info().rss, time.process_time()
    result = run()
    seconds = time.process_time() - started
    kept = max(process.memory_info().rss - before, 0)
    return result, Cost(step, "pages", seconds * _MILLION / count, kept * _MILLION / count / 2**30)


def _opened(number: int) -> Opened:
    doc_id, source = f"{number:064x}", f"{_BUCKET}/{number:012d}.png"
    return Opened(Item(source, source, source, "", ""), Document(doc_id, source, "", 1), pages=(1,))


def _write(units: Sequence[Unit], folder: str, words: int, at_once: int) -> None:
    pages = _pages(at_once, words)
    for start in range(0, len(units), at_once):
        part = units[start : start + at_once]
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
        made.append(Page(str(number), 1, 1700, 2200, tuple(found), "", "", "train", Provenance("ocr", "made up", "tesseract", "5", "x")))
    return codec.pages_table(made, [str(number) for number in range(count)])


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
