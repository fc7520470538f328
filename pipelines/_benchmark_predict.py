"""Pages and fields per second of bulk prediction on a running Ray: reading the pages and answering them apart."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from layoutray.bench.ingest import Round, measure
from layoutray.bench.spread import Spread
from layoutray.cli import terminal
from layoutray.cli.options import local_folder
from layoutray.cluster.connect import connect, num_cores
from layoutray.cluster.ingest import ingest
from layoutray.cluster.predict import Prediction, predict
from layoutray.cluster.replicas import Replicas
from layoutray.errors import InputError
from layoutray.inference import Extractor
from layoutray.recipe import IngestRecipe
from pipelines._real_pages import add_options, collect

_READING, _ANSWERING = "reading (OCR)", "answering (model)"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark predict", description=__doc__)
    parser.add_argument("checkpoint", type=local_folder, help="of a model that looks for fields")
    add_options(parser)
    parser.add_argument("--rounds", type=int, default=3, help="how often all pages are read and answered")
    parser.add_argument("--workers", type=int, default=num_cores(), help="model replicas, of one thread each")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        return _run(options, Path(scratch))


def _run(options: argparse.Namespace, scratch: Path) -> int:
    if not Extractor.load(options.checkpoint).fields:
        raise InputError(
            f"{options.checkpoint} looks for no fields of documents; take a model whose recipe names some in [task.fields]"
        )
    chosen = scratch / "chosen"
    collect(options, chosen)
    # As in the benchmark of ingest: other work on the machine is not to be measured.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  (Ray reads it in this spelling)
    bulk = _Bulk(options, chosen, scratch)
    with connect():
        rounds = [
            measure({_READING: bulk.read, _ANSWERING: bulk.answer}, 1, terminal.say)[0] for _ in range(options.rounds)
        ]
    done = bulk.done
    rows = [(name, *_row(rounds, seconds, done)) for name, seconds in _STAGES.items()]
    title = f"{done.pages} pages ({done.failed} failed), {done.fields} values of fields: mean (range) of {len(rounds)} rounds"
    terminal.show_table(title, ("", "pages/s", "fields/s"), rows)
    report = {
        "pages": done.pages,
        "failed": done.failed,
        "fields": done.fields,
        "rounds": [dict(one.seconds) for one in rounds],
    }
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


class _Bulk:
    """Both stages, one after the other, and what came of it last."""

    def __init__(self, options: argparse.Namespace, source: Path, scratch: Path) -> None:
        self._options, self._source, self._scratch = options, source, scratch
        self._folder = ""
        self.done = Prediction(0, 0, 0)

    def read(self) -> float:
        self._folder = tempfile.mkdtemp(dir=self._scratch)
        started = time.perf_counter()
        ingest(str(self._source), f"{self._folder}/ingested", IngestRecipe("folder", dev_share=0))
        return time.perf_counter() - started

    def answer(self) -> float:
        folder = self._folder
        started = time.perf_counter()
        self.done = predict(
            self._options.checkpoint,
            f"{folder}/ingested",
            f"{folder}/answers",
            replicas=Replicas(self._options.workers),
        )
        return time.perf_counter() - started


_STAGES: dict[str, Callable[[Round], float]] = {
    _READING: lambda one: one.seconds[_READING],
    _ANSWERING: lambda one: one.seconds[_ANSWERING],
    "both": lambda one: sum(one.seconds.values()),
}


def _row(rounds: Sequence[Round], seconds: Callable[[Round], float], done: Prediction) -> list[str]:
    return [str(Spread.of([count / seconds(one) for one in rounds])) for count in (done.pages, done.fields)]


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
