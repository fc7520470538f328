"""Pages and fields per second of bulk prediction on a running Ray, for ingest and prediction separately."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import real_pages
from benchmarks.measure.ingest_peers import TimedRound, time_contenders
from benchmarks.measure.spread import Spread
from benchmarks.real_pages import RealPagesOptions
from layoutray.cli.shared import terminal
from layoutray.cli.shared.checked import local_folder
from layoutray.cli.shared.options import parse
from layoutray.cluster.connect import connect, num_cores
from layoutray.cluster.ingest import ingest
from layoutray.cluster.placement import Replicas
from layoutray.cluster.predict import Prediction, predict
from layoutray.cluster.write import WrittenTexts
from layoutray.errors import InputError
from layoutray.inference.extractor import Extractor
from layoutray.recipe.ingest import IngestRecipe

_READING, _ANSWERING = "reading (OCR)", "answering (model)"


@dataclass(frozen=True, kw_only=True)
class PredictOptions(RealPagesOptions):
    """Options of `predict`.

    Attributes:
        checkpoint: folder of a model that extracts fields.
        rounds: times that all pages are ingested and predicted.
        workers: model replicas with one thread each.
    """

    checkpoint: Path
    rounds: int
    workers: int


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks predict", description=__doc__)
    parser.add_argument("checkpoint", type=local_folder, help="checkpoint folder of a model that extracts fields")
    real_pages.add_options(parser)
    parser.add_argument("--rounds", type=int, default=3, help="times that all pages are ingested and predicted")
    parser.add_argument(
        "--workers", type=int, default=num_cores(), help="model replicas with one thread each (default: all cores)"
    )
    options = parse(parser, arguments, PredictOptions)
    with tempfile.TemporaryDirectory() as scratch:
        return _run(options, Path(scratch))


def _run(options: PredictOptions, scratch: Path) -> int:
    if not Extractor.load(options.checkpoint).fields:
        raise InputError(
            f"{options.checkpoint} extracts no fields of documents; take a model whose recipe has [task.fields]"
        )
    sample = scratch / "sample"
    real_pages.collect(options, sample)
    # By default Ray lowers the priority of its workers; on a busy machine that would slow them down.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  (Ray reads it in this spelling)
    bulk = _Bulk(options, sample, scratch)
    with connect():
        rounds = [
            time_contenders({_READING: bulk.read, _ANSWERING: bulk.answer}, 1, terminal.say)[0]
            for _ in range(options.rounds)
        ]
    done = bulk.done
    rows = [(name, *_row(rounds, seconds, done)) for name, seconds in _STAGES.items()]
    counts = f"{done.answered} pages ({done.failed} failed), {done.fields} field values"
    title = f"{counts}: mean (range) of {len(rounds)} rounds"
    terminal.show_table(title, ("", "pages/s", "fields/s"), rows)
    report = {
        "pages": done.answered,
        "failed": done.failed,
        "fields": done.fields,
        "rounds": [dict(one.seconds) for one in rounds],
    }
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


class _Bulk:
    """Both stages, and the counts of the last round."""

    def __init__(self, options: PredictOptions, source: Path, scratch: Path) -> None:
        self._options, self._source, self._scratch = options, source, scratch
        self._folder = ""
        self.done = Prediction(answered=0, failed=0, entities=0, fields=0, without_fields=0, new=0)

    def read(self) -> float:
        self._folder = tempfile.mkdtemp(dir=self._scratch)
        started = time.perf_counter()
        ingest(str(self._source), f"{self._folder}/ingested", IngestRecipe(reader="folder", dev_share=0))
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


_STAGES: dict[str, Callable[[TimedRound], float]] = {
    _READING: lambda one: one.seconds[_READING],
    _ANSWERING: lambda one: one.seconds[_ANSWERING],
    "both": lambda one: sum(one.seconds.values()),
}


def _row(
    rounds: Sequence[TimedRound], seconds: Callable[[TimedRound], float], done: Prediction | WrittenTexts
) -> list[str]:
    return [str(Spread.of([count / seconds(one) for one in rounds])) for count in (done.answered, done.fields)]
