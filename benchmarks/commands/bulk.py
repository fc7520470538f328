"""Bulk prediction of generated pages: speed relative to the bare model in a loop, memory of the driver."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure.bulk import BulkCost, BulkRun, LoopCost, measure_bulk, measure_loop
from benchmarks.measure.generated_model import save_model
from benchmarks.measure.generated_pages import random_pages, write_pages
from benchmarks.measure.spread import Spread
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import parse
from layoutray.errors import InputError
from layoutray.store import codec

_PAGES_OF_VOCABULARY = 64


@dataclass(frozen=True, kw_only=True)
class BulkOptions:
    """Options of `bulk`.

    Attributes:
        pages: numbers of pages, one per document.
        words: of each page.
        size: of the model.
        rounds: times that each is measured. The loop runs with the smallest number of pages only.
        scratch: folder for pages and answers, which are deleted at the end.
    """

    pages: Sequence[int]
    words: int
    size: str
    rounds: int
    scratch: Path | None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks bulk", description=__doc__)
    parser.add_argument(
        "--pages", type=int, nargs="+", default=[2000, 20_000], help="numbers of pages, one per document"
    )
    parser.add_argument("--words", type=int, default=100, help="words of each page")
    parser.add_argument("--size", default="tiny", choices=("tiny", "small", "base"), help="model size (default: tiny)")
    parser.add_argument("--rounds", type=int, default=1, help="times that each is measured, one after the other")
    parser.add_argument("--scratch", type=Path, metavar="FOLDER", help="folder for pages and answers")
    options = parse(parser, arguments, BulkOptions)
    for name, value, least in (
        ("pages", min(options.pages), 2 * _PAGES_OF_VOCABULARY),
        ("words", options.words, 1),
        ("rounds", options.rounds, 1),
    ):
        if value < least:
            raise InputError(f"--{name} is {value}; it must be at least {least}")
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        bulks, loops = _measured(options, Path(scratch))
    _show(bulks, loops)
    report = {"bulk": {count: [asdict(one) for one in costs] for count, costs in bulks.items()}}
    sys.stdout.write(json.dumps(report | {"loop": [asdict(one) for one in loops]}) + "\n")
    return 0


def _measured(options: BulkOptions, scratch: Path) -> tuple[dict[int, list[BulkCost]], list[LoopCost]]:
    save_model(scratch / "model", [*codec.pages_of(random_pages(_PAGES_OF_VOCABULARY, options.words))], options.size)
    runs = {count: BulkRun(str(scratch / "model"), str(scratch / f"{count}"), 1) for count in sorted(options.pages)}
    for count, run in runs.items():
        write_pages(run.pages, count, options.words)
    bulks: dict[int, list[BulkCost]] = {count: [] for count in runs}
    loops: list[LoopCost] = []
    for _ in range(options.rounds):
        loops.append(measure_loop(runs[min(runs)]))
        for count, run in runs.items():
            bulks[count].append(measure_bulk(run))
            terminal.say(f"{count} pages: {bulks[count][-1]}")
    return bulks, loops


def _show(bulks: dict[int, list[BulkCost]], loops: Sequence[LoopCost]) -> None:
    loop_ms = [1000 * one.core_seconds / one.pages for one in loops]
    model_ms = [1000 * one.model_core_seconds / one.pages for one in loops]
    rows = [
        (
            f"{count:,}",
            str(Spread.of([1000 * one.core_seconds / one.pages for one in costs])),
            str(
                Spread.of([ms / (1000 * one.core_seconds / one.pages) for ms, one in zip(loop_ms, costs, strict=True)])
            ),
            str(Spread.of([(one.seconds / one.pages) * 1000 for one in costs])),
            f"{costs[-1].before:.0f} + {costs[-1].after:.0f}",
            f"{max(one.peak_mib - one.idle_mib for one in costs):.0f} above {costs[-1].idle_mib:.0f}",
        )
        for count, costs in bulks.items()
    ]
    columns = (
        "pages",
        "core ms/page of the replica",
        "speed relative to the loop, by core seconds",
        "ms/page by the clock",
        "s before and after",
        "driver, MiB",
    )
    terminal.show_table("`predict` with one replica", columns, rows)
    terminal.show_table(
        "The bare model in a loop, pages in memory",
        ("core ms/page", "of these the forward passes"),
        [(str(Spread.of(loop_ms)), str(Spread.of(model_ms)))],
    )
