"""Bulk prediction of pages on a Ray of this machine, and the bare model in a loop, each in a process of its own.

`python -m benchmarks.measure.bulk MEASUREMENT RUN` measures in this process.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.measure.environment import environment
from layoutray.cluster.connect import connect
from layoutray.cluster.placement import Replicas
from layoutray.cluster.predict import predict
from layoutray.cluster.progress import Progress
from layoutray.devices import CPU
from layoutray.inference.extractor import Extractor
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet

_REPLICA = "_AllStages"
"""Part of the command line of a process that holds a model."""
_SAMPLE_SECONDS = 0.2


@dataclass(frozen=True)
class BulkRun:
    """What is predicted: all pages of the data set `pages` by the model in `checkpoint`."""

    checkpoint: str
    pages: str
    replicas: int


@dataclass(frozen=True, kw_only=True)
class BulkCost:
    """What a bulk prediction needs.

    Attributes:
        seconds: from the first answered unit to the last one.
        pages: answered in these seconds.
        core_seconds: processor time of the replicas in these seconds.
        before, after: seconds from the start to the first answered unit, and from the last one to the manifest.
        idle_mib, peak_mib: memory of the driver alone when it is connected, and the largest later.
        fields: values of fields, of all documents.
    """

    seconds: float
    pages: int
    core_seconds: float
    before: float
    after: float
    idle_mib: float
    peak_mib: float
    fields: int


@dataclass(frozen=True)
class LoopCost:
    """What the bare model needs for the same pages, which are in memory, 64 at a time.

    Attributes:
        seconds, core_seconds: of `Extractor.extract`.
        model_core_seconds: the part of it that is the forward passes, in a second loop.
    """

    pages: int
    seconds: float
    core_seconds: float
    model_core_seconds: float


def measure_bulk(run: BulkRun) -> BulkCost:
    """Predict with a driver in a new process, which starts a Ray."""
    return BulkCost(**_in_new_process("bulk", run))


def measure_loop(run: BulkRun) -> LoopCost:
    """Run the model of `run` in a new process. All pages must fit into memory."""
    return LoopCost(**_in_new_process("loop", run))


def _in_new_process(measurement: str, run: BulkRun) -> dict[str, Any]:
    command = [sys.executable, "-m", __name__, measurement, json.dumps(asdict(run))]
    # By default Ray lowers the priority of its workers; on a busy machine that would slow them down.
    with environment({"RAY_worker_niceness": "0", "OMP_NUM_THREADS": "1"}):
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


class _Watch:
    """Notes when units are answered, the processor time of the replicas, and the memory of this process."""

    def __init__(self) -> None:
        self.idle = self.peak = _own_mib()
        self.marks: list[tuple[float, int, float]] = []
        """Time, answered pages and processor time of the replicas, at the first and at the latest unit."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def __call__(self, progress: Progress) -> None:
        if not progress.done:
            return
        if not self.marks or progress.done == progress.total:
            self.marks.append((time.perf_counter(), progress.done, _replica_seconds()))

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            self.peak = max(self.peak, _own_mib())


def _bulk_here(run: BulkRun) -> BulkCost:
    with tempfile.TemporaryDirectory(dir=Path(run.pages).parent) as out, connect():
        watch, started = _Watch(), time.perf_counter()
        done = predict(run.checkpoint, run.pages, out, replicas=Replicas(run.replicas), progress=watch)
        ended = time.perf_counter()
        watch.end()
    (first, some, before), (last, all_pages, after) = watch.marks[0], watch.marks[-1]
    return BulkCost(
        seconds=last - first,
        pages=all_pages - some,
        core_seconds=after - before,
        before=first - started,
        after=ended - last,
        idle_mib=watch.idle,
        peak_mib=watch.peak,
        fields=done.fields,
    )


def _loop_here(run: BulkRun) -> LoopCost:
    extractor = Extractor.load(run.checkpoint, CPU)
    units = [list(codec.pages_of(shards.read_shard(uri))) for uri in shards.shards(DataSet(run.pages).pages)]
    extractor.extract(units[0])  # warm-up
    seconds, core_seconds = _timed(lambda: [extractor.extract(unit) for unit in units])
    windows = [extractor.tagging.windows(unit) for unit in units]
    _, model_core_seconds = _timed(lambda: [extractor.probabilities(unit) for unit in windows])
    return LoopCost(sum(map(len, units)), seconds, core_seconds, model_core_seconds)


def _timed(run: Callable[[], object]) -> tuple[float, float]:
    started, core_started = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - started, time.process_time() - core_started


def _replica_seconds() -> float:
    """Processor time of all replicas so far."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if _REPLICA in " ".join(process.cmdline()):
                times = process.cpu_times()
                total += times.user + times.system
    return total


def _own_mib() -> float:
    """Memory that belongs to this process alone."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024


if __name__ == "__main__":
    _measure = {"bulk": _bulk_here, "loop": _loop_here}[sys.argv[1]]
    sys.stdout.write(json.dumps(asdict(_measure(BulkRun(**json.loads(sys.argv[2]))))))
