"""Metrics reach a server from a thread; an outage delays them and stops nothing."""

import threading
import time
from collections.abc import Mapping, Sequence

import pytest

from layoutray.training import background
from layoutray.training.background import BackgroundReporter, Measurement


class Server:
    """Keeps what it is sent, unless it is down."""

    def __init__(self, last: Mapping[str, int] | None = None) -> None:
        self.last = last or {}
        self.kept: list[tuple[str, int, float]] = []
        self.up = threading.Event()
        self.up.set()

    def last_steps(self) -> Mapping[str, int]:
        self._answer()
        return self.last

    def send(self, measurements: Sequence[Measurement]) -> None:
        self._answer()
        self.kept += [(one.name, one.step, one.value) for one in measurements]

    def _answer(self) -> None:
        if not self.up.is_set():
            raise ConnectionError("down")


def test_all_metrics_have_arrived_when_a_state_is_saved() -> None:
    server = Server()
    reporter = BackgroundReporter(server.last_steps, server.send)
    for step in range(1, 1201):
        reporter.metrics(step, {"loss": 1 / step, "rate": 0.5})
    reporter.saved(1200, None)
    assert server.kept == [part for step in range(1, 1201) for part in (("loss", step, 1 / step), ("rate", step, 0.5))]


def test_steps_that_the_server_has_are_not_sent_again() -> None:
    server = Server({"loss": 3})
    reporter = BackgroundReporter(server.last_steps, server.send)
    for step in range(2, 6):
        reporter.metrics(step, {"loss": 0.5, "dev.loss": 0.7})
    reporter.saved(5, None)
    assert [step for name, step, _ in server.kept if name == "loss"] == [4, 5]
    assert [step for name, step, _ in server.kept if name == "dev.loss"] == [2, 3, 4, 5]


@pytest.mark.parametrize("down_at", [0, 3])
def test_an_outage_delays_metrics_and_raises_nothing(down_at: int) -> None:
    server = Server()
    reporter = BackgroundReporter(server.last_steps, server.send)
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
    assert server.kept == [("loss", step, float(step)) for step in range(7)]


def test_a_slow_server_does_not_slow_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    server, slow = Server(), threading.Event()

    def send(measurements: Sequence[Measurement]) -> None:
        slow.wait(10)
        server.send(measurements)

    reporter = BackgroundReporter(server.last_steps, send)
    monkeypatch.setattr(background, "_EVERY", 0.0)  # every report is due to be sent
    started = time.monotonic()
    for step in range(1000):
        reporter.metrics(step, {"loss": 0.0})
    assert time.monotonic() - started < 5
    slow.set()
    reporter.saved(1000, None)
    assert len(server.kept) == 1000
