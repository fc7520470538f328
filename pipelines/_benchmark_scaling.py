"""Pages per second of ingest on 1, 2 and 4 simulated nodes with a stand-in for OCR, and what a page takes beside OCR.

Each node is a Ray node with one CPU, so one worker, but all are on this machine. The stand-in sleeps in Tesseract's place. This shows
whether workers wait for what they share: the plan, Ray, the ledger, the store. It does not show what a network between nodes costs, nor
cores at work, nor more nodes than these. What is not OCR does compute, and takes longer where the machine has other work: above all the
start of the workers, which counts; that of Ray does not. The S3 server is moto's, in this process: its requests cost its own time, not
that of a real store far away.
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

from layoutray.bench import stand_in
from layoutray.bench.environment import environment
from layoutray.bench.object_store import object_store
from layoutray.bench.scaling import Ingested, steps
from layoutray.cli import terminal
from layoutray.cluster.connect import connect
from layoutray.cluster.ingest import ingest
from layoutray.cluster.progress import Progress
from layoutray.errors import InputError
from layoutray.ocr.settings import Recognition
from layoutray.recipe import IngestRecipe
from layoutray.store import sources

_NODE = {"num_cpus": 1, "include_dashboard": False}
_ONE = "1 node"
_START = 300.0  # seconds that nodes may take to find each other on a busy machine
_RAY = {"RAY_worker_niceness": "0", "RAY_AUTH_MODE": "disabled"}
"""Ray gives its workers a lower priority than other programs have: on a machine with other work that would be measured."""


@dataclass(frozen=True, slots=True)
class _Contender:
    """A set of pictures below `place`, a folder or s3:// address, that so many nodes ingest to below it."""

    place: str
    pages: int
    nodes: int = 1
    recognition: Recognition = stand_in.READS

    @property
    def source(self) -> str:
        return sources.join(self.place, f"{self.pages}-pages")

    @property
    def recipe(self) -> IngestRecipe:
        return IngestRecipe("folder", dev_share=0, recognition=self.recognition)

    def out(self) -> str:
        """Another folder each time."""
        return sources.join(self.place, uuid.uuid4().hex)

    def ingest(self) -> Ingested:
        first, out = list[float](), self.out()

        def notice(progress: Progress) -> None:
            if progress.stage == "recognise" and progress.done and not first:
                first.append(time.perf_counter() - started)

        started = time.perf_counter()
        manifest = ingest(self.source, out, self.recipe, workers=self.nodes, progress=notice)
        seconds = time.perf_counter() - started
        ingest(self.source, out, self.recipe, workers=self.nodes)
        again = time.perf_counter() - started - seconds
        assert manifest.pages_in == manifest.run.pages == self.pages, manifest
        return Ingested(self.pages, self.nodes, first[0], seconds, again, stand_in.seconds_of_page(self.recognition))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark scaling", description=__doc__)
    parser.add_argument(
        "--pages", type=int, default=240, help="pictures that nodes do together; a quarter of it for what a page takes"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="that the stand-in sleeps for a page")
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4], help="to compare with one node (default: 2 4)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contender does its pages")
    options = parser.parse_args(arguments)
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


def _run(options: argparse.Namespace, scratch: str, bucket: str) -> int:
    nodes = {_ONE: _Contender(scratch, options.pages)}
    nodes |= {f"{count} nodes": _Contender(scratch, options.pages, count) for count in sorted({*options.nodes})}
    alone = {
        "disk": _Contender(scratch, options.pages // 4),
        "disk, dead letters": _Contender(scratch, options.pages // 4, recognition=stand_in.REFUSES),
        "S3": _Contender(bucket, options.pages // 4),
    }
    for source, pages in {(one.source, one.pages) for one in (*nodes.values(), *alone.values())}:
        stand_in.write_pictures(source, pages)
    single = {
        name: [steps(alone[name].source, alone[name].out(), alone[name].recipe) for _ in range(options.rounds)]
        for name in ("disk", "S3")
    }
    taken = _measured(nodes | alone, options.rounds)
    _show_nodes({name: taken[name] for name in nodes})
    _show_page({name: taken[name] for name in alone})
    _show_steps(single)
    found = {name: [asdict(one) for one in runs] for name, runs in taken.items()}
    sys.stdout.write(json.dumps({"ingests": found, "steps": single}) + "\n")
    return 0


@contextmanager
def _ray(nodes: int) -> Generator[None]:
    """A connected Ray of so many nodes, started anew."""
    cluster = Cluster(initialize_head=True, head_node_args=_NODE)
    try:
        for _ in range(nodes - 1):
            cluster.add_node(wait=False, **_NODE)
        cluster.wait_for_nodes(_START)
        with environment({"RAY_ADDRESS": str(cluster.address)}), connect():
            yield
    finally:
        cluster.shutdown()


def _measured(contenders: Mapping[str, _Contender], rounds: int) -> dict[str, list[Ingested]]:
    taken: dict[str, list[Ingested]] = {name: [] for name in contenders}
    sizes = sorted({one.nodes for one in contenders.values()})
    for number in range(rounds):
        for nodes in sizes if number % 2 == 0 else sizes[::-1]:
            with _ray(nodes):
                for name in (name for name, one in contenders.items() if one.nodes == nodes):
                    one = contenders[name].ingest()
                    taken[name].append(one)
                    terminal.say(
                        f"round {number + 1} of {rounds}: {name} took {one.seconds:.1f} s, the first page {one.first:.1f} s"
                    )
    return taken


def _show_nodes(taken: Mapping[str, Sequence[Ingested]]) -> None:
    rows = [
        (
            name,
            _spread(one.pages / one.seconds for one in runs),
            _spread(alone.whole / one.whole for one, alone in zip(runs, taken[_ONE], strict=True)),
            _spread(alone.started / one.started for one, alone in zip(runs, taken[_ONE], strict=True)),
            _spread(one.first for one in runs),
        )
        for name, runs in taken.items()
    ]
    columns = ("", "pages/s", "of linear", "of linear from the first page on", "s to the first page")
    terminal.show_table("Ingest, median (range) of the rounds", columns, rows)


def _show_page(taken: Mapping[str, Sequence[Ingested]]) -> None:
    rows = [
        (
            name,
            _spread(1000 * one.ocr for one in runs),
            _spread(1000 * one.beside_ocr for one in runs),
            _spread(one.again for one in runs),
        )
        for name, runs in taken.items()
    ]
    columns = (
        "from and to",
        "OCR alone, ms a page",
        "beside it, ms a page",
        f"rerun of {taken['disk'][0].pages} pages, s",
    )
    terminal.show_table("One worker, from the first page on", columns, rows)


def _show_steps(taken: Mapping[str, Sequence[Mapping[str, float]]]) -> None:
    rows = [
        (step, *(_spread(1000 * one[step] for one in rounds) for rounds in taken.values())) for step in taken["disk"][0]
    ]
    terminal.show_table("Steps on their own, ms a page", ("", *taken), rows)


def _spread(values: Iterable[float]) -> str:
    each = list(values)
    return f"{statistics.median(each):.3g} ({min(each):.3g} to {max(each):.3g})"


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
