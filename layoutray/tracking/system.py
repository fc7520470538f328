"""Load of the machine during a training, measured by MLflow's own monitors."""

import time

from mlflow.system_metrics.metrics.base_metrics_monitor import BaseMetricsMonitor
from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
from mlflow.system_metrics.metrics.disk_monitor import DiskMonitor
from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor
from mlflow.system_metrics.metrics.network_monitor import NetworkMonitor

_EVERY = 10.0
"""Seconds between two measurements; the interval of MLflow's own thread."""


class SystemLoad:
    """Measures the node of this process: CPU, memory, disk, network, and GPUs if the extra `gpu` is installed."""

    def __init__(self) -> None:
        self._monitors: list[BaseMetricsMonitor] = [CPUMonitor(), DiskMonitor(), NetworkMonitor(), *_gpus()]
        self._next = time.monotonic()

    def measure(self) -> dict[str, float]:
        """The load by metric, in MLflow's section of system metrics; empty if the last call was just before."""
        if time.monotonic() < self._next:
            return {}
        self._next = time.monotonic() + _EVERY
        measured: dict[str, float] = {}
        for monitor in self._monitors:
            monitor.collect_metrics()
            measured |= monitor.aggregate_metrics() or {}
            monitor.clear_metrics()
        return {f"system/{name}": float(value) for name, value in measured.items()}


def _gpus() -> list[BaseMetricsMonitor]:
    try:
        return [GPUMonitor()]
    except (ImportError, RuntimeError):  # NVIDIA's library is not installed, or there is no GPU of theirs
        return []
