"""The reporter of a training that sends its metrics, and the load of the machine, to MLflow.

It sends from a thread, so that neither the latency of a server nor an outage stops a training.
"""

import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path

from mlflow.entities import Metric
from mlflow.system_metrics.metrics.base_metrics_monitor import BaseMetricsMonitor
from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
from mlflow.system_metrics.metrics.disk_monitor import DiskMonitor
from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor
from mlflow.system_metrics.metrics.network_monitor import NetworkMonitor

from layoutray.tracking import metric_names
from layoutray.tracking.runs import Run
from layoutray.training.reporter import Reporter

_EVERY = 2.0
"""Seconds between two calls of the server."""
_PATIENCE = 30.0
"""Seconds that a training waits for the server after it has saved a state."""
_LARGEST = 1000
"""Measurements of one call; MLflow's limit."""

_LOAD_EVERY = 10.0
"""Seconds between two measurements of the load; the interval of MLflow's own thread."""

_logger = logging.getLogger(__name__)


class MlflowReporter(Reporter):
    """Sends metrics in order, each step once. While the server cannot be reached, they wait in memory.

    Steps that the run has are not sent again: after a recovery some steps are trained again.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._load = SystemLoad()
        self._known: Mapping[str, int] | None = None
        self._waiting: list[Metric] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")
        self._latest = self._thread.submit(lambda: True)
        self._sent = time.monotonic()

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        now = time.time_ns() // 1_000_000
        named = {metric_names.of_training(name): value for name, value in values.items()} | self._load.measure()
        self._waiting += [Metric(name, float(value), now, step) for name, value in named.items()]
        if time.monotonic() - self._sent > _EVERY and self._latest.done():
            self._submit()

    def saved(self, step: int, folder: Path | None) -> None:
        """Send everything before the state: those steps are never trained again."""
        self.flush()

    def flush(self) -> None:
        """Send all measurements, and wait until they have arrived, unless the last call has failed."""
        reached = not self._latest.done() or self._latest.result()
        self._submit()
        wait([self._latest], _PATIENCE if reached else 0)

    def _submit(self) -> None:
        self._sent = time.monotonic()
        self._latest = self._thread.submit(self._send_waiting)

    def _send_waiting(self) -> bool:
        """Whether everything could be sent."""
        try:
            if self._known is None:
                self._known = self._run.last_steps()
            while part := self._waiting[:_LARGEST]:
                self._run.log_batch([one for one in part if one.step > self._known.get(one.key, -1)])
                del self._waiting[: len(part)]
        except Exception as error:  # a client of a server raises many kinds; none may end a training
            # The message may contain a password.
            _logger.warning("metrics wait, as their server cannot be reached (%s)", type(error).__name__)
            return False
        return True


class SystemLoad:
    """Measures the node of this process: CPU, memory, disk, network, and GPUs if the extra `gpu` is installed."""

    def __init__(self) -> None:
        self._monitors: list[BaseMetricsMonitor] = [CPUMonitor(), DiskMonitor(), NetworkMonitor()]
        with suppress(ImportError, RuntimeError):  # NVIDIA's library is not installed, or there is no GPU of theirs
            self._monitors.append(GPUMonitor())
        self._next = time.monotonic()

    def measure(self) -> dict[str, float]:
        """The load by metric, in MLflow's section of system metrics; empty if the last call was just before."""
        if time.monotonic() < self._next:
            return {}
        self._next = time.monotonic() + _LOAD_EVERY
        measured: dict[str, float] = {}
        for monitor in self._monitors:
            monitor.collect_metrics()
            measured |= monitor.aggregate_metrics() or {}
            monitor.clear_metrics()
        return {f"system/{name}": float(value) for name, value in measured.items()}
