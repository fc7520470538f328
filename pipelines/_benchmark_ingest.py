"""Pages per second of ingest on a running Ray, over those of `xargs -P` with bare tesseract and of a bare pool of our OCR."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from layoutray.bench.ingest import measure, ratios, seconds_of_pool, seconds_of_xargs, write_preprocessed
from layoutray.cli import terminal
from layoutray.cluster.connect import connect, num_cores
from layoutray.cluster.ingest import ingest, plan_for
from layoutray.errors import InputError
from layoutray.ocr.settings import Recognition
from layoutray.recipe import IngestRecipe
from pipelines._real_pages import add_options, collect

_OURS, _XARGS, _POOL = "ingest", "xargs", "pool"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark ingest", description=__doc__)
    add_options(parser)
    parser.add_argument("--rounds", type=int, default=3, help="how often each contender does all pages")
    parser.add_argument(
        "--peers", nargs="+", choices=(_XARGS, _POOL), default=[_XARGS, _POOL], help="which of them to compare with"
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=num_cores(),
        help="that read pages; with fewer than cores, Ray's own processes do not compete with them",
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        return _run(options, Path(scratch))


def _run(options: argparse.Namespace, scratch: Path) -> int:
    # PDFs that bring their own text are read too: it is OCR that is compared.
    recipe, processes = (
        IngestRecipe("folder", dev_share=0, recognition=Recognition(text_layer="never")),
        options.processes,
    )
    chosen, prepared = scratch / "chosen", scratch / "prepared"
    prepared.mkdir()
    collect(options, chosen)
    plan = plan_for(str(chosen), recipe)
    pages = [(Path(unit.item.image), unit.page) for unit in plan.units]
    if not pages:
        raise InputError(f"no page of {', '.join(map(str, options.folders))} can be read")
    if _XARGS in options.peers:
        write_preprocessed(pages, recipe.recognition, prepared, processes)
    terminal.say(f"{len(pages)} pages, {processes} process(es) each, {options.rounds} rounds")
    # Ray gives its workers a lower priority than other programs have: on a machine with other work that would be measured.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  (Ray reads it in this spelling)
    before = time.perf_counter()
    with connect():
        start = time.perf_counter() - before
        peers = {
            _XARGS: lambda: seconds_of_xargs(prepared, recipe.recognition, processes),
            _POOL: lambda: seconds_of_pool(pages, recipe.recognition, processes),
        }
        contenders = {_OURS: lambda: _seconds_of_ingest(chosen, recipe, scratch, processes)} | {
            name: peers[name] for name in options.peers
        }
        results = measure(contenders, options.rounds, terminal.say)
    found = ratios(results, _OURS)
    speeds = [(name, *(len(pages) / one.seconds[name] for one in results)) for name in contenders]
    terminal.show_table("Pages per second", ("", *(f"round {number + 1}" for number in range(options.rounds))), speeds)
    terminal.show_table(
        "Ingest over its peers", ("peer", "median", "least", "most"), [tuple(asdict(one).values()) for one in found]
    )
    terminal.say(f"Starting Ray took {start:.1f} s and is not counted.")
    print(
        json.dumps(
            {
                "pages": len(pages),
                "ray_start": start,
                "rounds": [dict(one.seconds) for one in results],
                "ratios": [asdict(one) for one in found],
            }
        )
    )
    return 0


def _seconds_of_ingest(source: Path, recipe: IngestRecipe, scratch: Path, processes: int) -> float:
    with tempfile.TemporaryDirectory(dir=scratch) as out:
        started = time.perf_counter()
        manifest = ingest(str(source), out, recipe, workers=processes)
        seconds = time.perf_counter() - started
    assert manifest.pages_dead == 0, manifest.reasons
    return seconds


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
