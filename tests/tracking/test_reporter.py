"""Metrics reach a server from a thread; an outage delays them and stops nothing."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from mlflow.entities import Metric

from layoutray.tracking import reporter as reporters
from layoutray.tracking.reporter import MlflowReporter, SystemLoad
from layoutray.tracking.runs import Run


class Server:
    """Keeps what it is sent, without the load of the machine, unless it is down."""

    def __init__(self, last: Mapping[str, int] | None = None) -> None:
        self.last = last or {}
        self.kept: list[tuple[str, int, float]] = []
        self.up = threading.Event()
        self.up.set()

    def last_steps(self) -> Mapping[str, int]:
        self._answer()
        return self.last

    def log_batch(self, metrics: Sequence[Metric]) -> None:
        self._answer()
        self.kept += [(one.key, one.step, one.value) for one in metrics if not one.key.startswith("system/")]

    def _answer(self) -> None:
        if not self.up.is_set():
            raise ConnectionError("down")


def test_all_metrics_have_arrived_when_a_state_is_saved() -> None:
    server = Server()
    reporter = MlflowReporter(cast(Run, server))
    for step in range(1, 1201):
        reporter.metrics(step, {"loss": 1 / step, "rate": 0.5})
    reporter.saved(1200, None)
    assert server.kept == [
        part for step in range(1, 1201) for part in (("train/loss", step, 1 / step), ("train/rate", step, 0.5))
    ]


def test_steps_that_the_server_has_are_not_sent_again() -> None:
    server = Server({"train/loss": 3})
    reporter = MlflowReporter(cast(Run, server))
    for step in range(2, 6):
        reporter.metrics(step, {"loss": 0.5, "dev.loss": 0.7})
    reporter.saved(5, None)
    assert [step for name, step, _ in server.kept if name == "train/loss"] == [4, 5]
    assert [step for name, step, _ in server.kept if name == "dev/loss"] == [2, 3, 4, 5]


@pytest.mark.parametrize("down_at", [0, 3])
def test_an_outage_delays_metrics_and_raises_nothing(down_at: int) -> None:
    server = Server()
    reporter = MlflowReporter(cast(Run, server))
    for step in range(6):
        if step == down_at:
            server.up.clear()
        reporter.metrics(step, {"loss": float(step)})
        reporter.saved(step, None)
    assert len(server.kept) == down_at
    server.up.set()
    reporter.metrics(6, {"loss": 6.0})
    reporter.saved(6, None)
    reporter.saved(6, None)  # the first waits for nothing, as the server was down before
    assert server.kept == [("train/loss", step, float(step)) for step in range(7)]


def test_a_slow_server_does_not_slow_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = threading.Event()

    class Slow(Server):
        def log_batch(self, metrics: Sequence[Metric]) -> None:
            slow.wait(10)
            super().log_batch(metrics)

    server = Slow()
    reporter = MlflowReporter(cast(Run, server))
    monkeypatch.setattr(reporters, "_EVERY", 0.0)  # every report is due to be sent
    started = time.monotonic()
    for step in range(1000):
        reporter.metrics(step, {"loss": 0.0})
    assert time.monotonic() - started < 5
    slow.set()
    reporter.saved(1000, None)
    assert len(server.kept) == 1000


def test_processor_and_memory_are_measured_at_most_every_ten_seconds() -> None:
    load = SystemLoad()
    measured = load.measure()
    assert measured["system/system_memory_usage_megabytes"] > 0
    assert 0 <= measured["system/cpu_utilization_percentage"] <= 100
    assert load.measure() == {}
