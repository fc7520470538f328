"""Pages per second of ingest on 1, 2 and 4 simulated nodes with a substitute for OCR, and overhead per page.

Each node is a Ray node with one CPU and one worker; all nodes are on this machine. The substitute sleeps instead of
doing OCR. The benchmark shows whether workers wait for what they share: the plan, Ray, the ledger and the store. It
does not include network latency, CPU-bound OCR, or more nodes. Steps other than OCR do compute, and take longer on a
busy machine, above all the start of the workers, which is included; the start of Ray is not. The S3 server is moto's in
this process, so its latency is not that of a remote store.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ray.cluster_utils import Cluster

from benchmarks.measure import stand_in
from benchmarks.measure.environment import environment
from benchmarks.measure.ingest_cost import IngestTiming, step_seconds
from benchmarks.measure.object_store import object_store
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import parse
from layoutray.cluster.connect import connect
from layoutray.cluster.ingest import ingest
from layoutray.cluster.progress import Progress
from layoutray.errors import InputError
from layoutray.ocr.settings import Recognition
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store import sources

_NODE = {"num_cpus": 1, "include_dashboard": False}
_ONE = "1 node"
_NODE_TIMEOUT = 300.0
"""Seconds within which nodes must have joined the cluster, also on a busy machine."""
_RAY = {"RAY_worker_niceness": "0", "RAY_AUTH_MODE": "disabled"}
"""By default Ray lowers the priority of its workers; on a busy machine that would slow them down."""


@dataclass(frozen=True, slots=True)
class _Contender:
    """An ingest on `nodes` nodes, from and to `place`, a folder or s3:// address."""

    place: str
    pages: int
    nodes: int = 1
    recognition: Recognition = stand_in.READS

    @property
    def source(self) -> str:
        return sources.join(self.place, f"{self.pages}-pages")

    @property
    def recipe(self) -> IngestRecipe:
        return IngestRecipe(reader="folder", dev_share=0, recognition=self.recognition)

    def out(self) -> str:
        """A new output folder."""
        return sources.join(self.place, uuid.uuid4().hex)

    def ingest(self) -> IngestTiming:
        first, out = list[float](), self.out()

        def note_first(progress: Progress) -> None:
            if progress.stage == "recognise" and progress.done and not first:
                first.append(time.perf_counter() - started)

        started = time.perf_counter()
        manifest = ingest(self.source, out, self.recipe, workers=self.nodes, progress=note_first)
        seconds = time.perf_counter() - started
        ingest(self.source, out, self.recipe, workers=self.nodes)
        again = time.perf_counter() - started - seconds
        assert manifest.pages_in == manifest.run.pages == self.pages, manifest
        return IngestTiming(
            pages=self.pages,
            workers=self.nodes,
            first=first[0],
            seconds=seconds,
            again=again,
            ocr=stand_in.seconds_of_page(self.recognition),
        )


@dataclass(frozen=True, kw_only=True)
class ScalingOptions:
    """Options of `scaling`.

    Attributes:
        pages: pictures of an ingest.
        seconds: that the substitute for OCR sleeps per page.
        nodes: numbers of nodes to compare with one node.
        rounds: times that each ingest runs.
    """

    pages: int
    seconds: float
    nodes: Sequence[int]
    rounds: int


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scaling", description=__doc__)
    parser.add_argument(
        "--pages", type=int, default=240, help="pictures of an ingest; a quarter of them for the overhead per page"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds that the substitute sleeps per page")
    parser.add_argument(
        "--nodes", type=int, nargs="+", default=[2, 4], help="numbers of nodes to compare with one node (default: 2 4)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="times that each ingest runs")
    options = parse(parser, arguments, ScalingOptions)
    least_pages = max(8, 2 * max(options.nodes))
    for name, value, least in (
        ("pages", options.pages, least_pages),
        ("nodes", min(options.nodes), 2),
        ("rounds", options.rounds, 1),
    ):
        if value < least:
            raise InputError(f"--{name} is {value}; it must be at least {least}")
    with tempfile.TemporaryDirectory() as scratch, object_store("pages") as bucket:
        program = Path(scratch, "program")
        program.mkdir()
        with environment(stand_in.install(program, options.seconds) | _RAY | {"RAY_TMPDIR": scratch}):
            return _run(options, scratch, bucket)


def _run(options: ScalingOptions, scratch: str, bucket: str) -> int:
    nodes = {_ONE: _Contender(scratch, options.pages)}
    nodes |= {f"{count} nodes": _Contender(scratch, options.pages, count) for count in sorted({*options.nodes})}
    single_worker = {
        "disk": _Contender(scratch, options.pages // 4),
        "disk, dead letters": _Contender(scratch, options.pages // 4, recognition=stand_in.REFUSES),
        "S3": _Contender(bucket, options.pages // 4),
    }
    for source, pages in {(one.source, one.pages) for one in (*nodes.values(), *single_worker.values())}:
        stand_in.write_pictures(source, pages)
    steps = {name: [_step_seconds(single_worker[name]) for _ in range(options.rounds)] for name in ("disk", "S3")}
    timings = _measured(nodes | single_worker, options.rounds)
    _show_nodes({name: timings[name] for name in nodes})
    _show_page({name: timings[name] for name in single_worker})
    _show_steps(steps)
    report = {name: [asdict(one) for one in runs] for name, runs in timings.items()}
    sys.stdout.write(json.dumps({"ingests": report, "steps": steps}) + "\n")
    return 0


def _step_seconds(contender: _Contender) -> dict[str, float]:
    return step_seconds(contender.source, contender.out(), contender.recipe)


@contextmanager
def _ray(nodes: int) -> Generator[None]:
    """A connected, newly started Ray cluster of `nodes` nodes."""
    cluster = Cluster(initialize_head=True, head_node_args=_NODE)
    try:
        for _ in range(nodes - 1):
            cluster.add_node(wait=False, **_NODE)
        cluster.wait_for_nodes(_NODE_TIMEOUT)
        with environment({"RAY_ADDRESS": str(cluster.address)}), connect():
            yield
    finally:
        cluster.shutdown()


def _measured(contenders: Mapping[str, _Contender], rounds: int) -> dict[str, list[IngestTiming]]:
    timings: dict[str, list[IngestTiming]] = {name: [] for name in contenders}
    sizes = sorted({one.nodes for one in contenders.values()})
    for number in range(rounds):
        for nodes in sizes if number % 2 == 0 else sizes[::-1]:
            with _ray(nodes):
                for name in (name for name, one in contenders.items() if one.nodes == nodes):
                    timing = contenders[name].ingest()
                    timings[name].append(timing)
                    terminal.say(
                        f"round {number + 1} of {rounds}: {name} took {timing.seconds:.1f} s, "
                        f"the first page {timing.first:.1f} s"
                    )
    return timings


def _show_nodes(timings: Mapping[str, Sequence[IngestTiming]]) -> None:
    rows = [
        (
            name,
            _spread(one.pages / one.seconds for one in runs),
            _spread(
                alone.seconds_per_page / one.seconds_per_page for one, alone in zip(runs, timings[_ONE], strict=True)
            ),
            _spread(
                alone.steady_seconds_per_page / one.steady_seconds_per_page
                for one, alone in zip(runs, timings[_ONE], strict=True)
            ),
            _spread(one.first for one in runs),
        )
        for name, runs in timings.items()
    ]
    columns = (
        "",
        "pages/s",
        "share of linear scaling",
        "share of linear scaling after the first page",
        "s to the first page",
    )
    terminal.show_table("Ingest, median (range) of the rounds", columns, rows)


def _show_page(timings: Mapping[str, Sequence[IngestTiming]]) -> None:
    rows = [
        (
            name,
            _spread(1000 * one.ocr for one in runs),
            _spread(1000 * one.overhead for one in runs),
            _spread(one.again for one in runs),
        )
        for name, runs in timings.items()
    ]
    columns = (
        "from and to",
        "OCR, ms per page",
        "overhead, ms per page",
        f"rerun of {timings['disk'][0].pages} pages, s",
    )
    terminal.show_table("One worker, after the first page", columns, rows)


def _show_steps(steps: Mapping[str, Sequence[Mapping[str, float]]]) -> None:
    rows = [
        (step, *(_spread(1000 * one[step] for one in rounds) for rounds in steps.values())) for step in steps["disk"][0]
    ]
    terminal.show_table("Single steps, ms per page", ("", *steps), rows)


def _spread(values: Iterable[float]) -> str:
    listed = list(values)
    return f"{statistics.median(listed):.3g} ({min(listed):.3g} to {max(listed):.3g})"
