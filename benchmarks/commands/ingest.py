"""Pages per second of ingest on a running Ray, relative to tesseract under `xargs -P` and a process pool of our OCR."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import sample_pages
from benchmarks.measure.ingest_peers import (
    seconds_of_pool,
    seconds_of_xargs,
    speed_ratios,
    time_contenders,
    write_preprocessed,
)
from layoutray.cli.shared import terminal
from layoutray.cluster.connect import connect, num_cores
from layoutray.cluster.ingest import ingest, plan_ingest
from layoutray.errors import InputError
from layoutray.ocr.settings import Recognition
from layoutray.recipe.ingest import IngestRecipe

_OURS, _XARGS, _POOL = "ingest", "xargs", "pool"
_TESSERACT = "tesserocr"


@dataclass(frozen=True, kw_only=True)
class IngestBenchmarkOptions:
    """Options of `ingest`.

    Attributes:
        pages: most pages to read.
        peers: what to compare with; empty: all that read pages with the engine.
        processes: that read pages.
    """

    folders: Sequence[Path]
    pages: int
    rounds: int
    peers: Sequence[str]
    processes: int
    engine: str


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ingest", description=__doc__)
    sample_pages.add_options(parser)
    parser.add_argument("--rounds", type=int, default=3, help="times that each contender reads all pages (default: 3)")
    parser.add_argument(
        "--peers",
        nargs="+",
        choices=(_XARGS, _POOL),
        default=[],
        help="what to compare with (default: both; with rapidocr only the pool, as xargs runs tesseract)",
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=num_cores(),
        help="processes that read pages (default: all cores); with fewer, Ray's own processes have a core",
    )
    parser.add_argument(
        "--engine",
        choices=(_TESSERACT, "rapidocr"),
        default=_TESSERACT,
        help="how pages are read (default: %(default)s)",
    )
    options = IngestBenchmarkOptions(**vars(parser.parse_args(arguments)))
    with tempfile.TemporaryDirectory() as scratch:
        return _compare(options, Path(scratch))


def _peers(options: IngestBenchmarkOptions) -> Sequence[str]:
    if options.engine == _TESSERACT:
        return options.peers or (_XARGS, _POOL)
    if _XARGS in options.peers:
        raise InputError("--peers xargs runs tesseract, which --engine rapidocr does not use; name --peers pool only")
    return (_POOL,)


def _compare(options: IngestBenchmarkOptions, scratch: Path) -> int:
    peers, processes, rounds = _peers(options), options.processes, options.rounds
    # Pages with a text layer go through OCR too, because the baselines do OCR for every page.
    recognition = Recognition(text_layer="never", engine=options.engine)
    recipe = IngestRecipe(reader="folder", dev_share=0, recognition=recognition)
    sample, prepared = scratch / "sample", scratch / "prepared"
    prepared.mkdir()
    sample_pages.collect(options.folders, options.pages, sample)
    plan = plan_ingest(str(sample), recipe)
    pages = [(Path(task.reference.image), task.page) for task in plan.page_tasks]
    if not pages:
        raise InputError(f"{', '.join(map(str, options.folders))}: no page can be read")
    if _XARGS in peers:
        write_preprocessed(pages, recipe.recognition, prepared, processes)
    terminal.say(f"{len(pages)} pages, {processes} process(es) each, {rounds} rounds")
    # By default Ray lowers the priority of its workers; on a busy machine that would slow only ingest down.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  (Ray reads it in this spelling)
    before = time.perf_counter()
    with connect():
        start = time.perf_counter() - before
        baselines = {
            _XARGS: lambda: seconds_of_xargs(prepared, recipe.recognition, processes),
            _POOL: lambda: seconds_of_pool(pages, recipe.recognition, processes),
        }
        contenders = {_OURS: lambda: _seconds_of_ingest(sample, recipe, scratch, processes)} | {
            name: baselines[name] for name in peers
        }
        results = time_contenders(contenders, rounds, terminal.say)
    ratios = speed_ratios(results, _OURS)
    speeds = [(name, *(len(pages) / result.seconds[name] for result in results)) for name in contenders]
    terminal.show_table("Pages per second", ("", *(f"round {number + 1}" for number in range(rounds))), speeds)
    terminal.show_table(
        "Speed of ingest relative to", ("", "median", "least", "most"), [tuple(asdict(one).values()) for one in ratios]
    )
    terminal.say(f"The start of Ray took {start:.1f} s and is not included.")
    report = {
        "pages": len(pages),
        "ray_start": start,
        "rounds": [dict(result.seconds) for result in results],
        "ratios": [asdict(one) for one in ratios],
    }
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


def _seconds_of_ingest(source: Path, recipe: IngestRecipe, scratch: Path, processes: int) -> float:
    with tempfile.TemporaryDirectory(dir=scratch) as out:
        started = time.perf_counter()
        manifest = ingest(str(source), out, recipe, workers=processes)
        seconds = time.perf_counter() - started
    assert manifest.pages_dead == 0, manifest.reasons
    return seconds
