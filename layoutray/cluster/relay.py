"""Forwards reports of rank 0 to the driver, for a progress bar at the terminal."""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from layoutray.training.reporter import Reporter

_POLL_SECONDS = 0.5


class _Board:
    """An actor that queues calls until the driver takes them."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, int, Any]] = []

    def post(self, call: tuple[str, int, Any]) -> None:
        self._calls.append(call)

    def take(self) -> list[tuple[str, int, Any]]:
        calls, self._calls = self._calls, []
        return calls


class Relay(Reporter):
    """A reporter for rank 0 that forwards everything but states to the driver, without waiting."""

    def __init__(self, board: Any) -> None:
        self._board = board

    def start(self, step: int, steps: int) -> None:
        self._board.post.remote(("start", step, steps))

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._board.post.remote(("metrics", step, dict(values)))


@contextmanager
def relay_to(listener: Reporter) -> Generator[Relay]:
    """A relay whose calls reach `listener` in this process for the `with` block."""
    # On the driver's node, so that the loss of another node does not end it.
    on_this_node = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    board = cast(Any, ray.remote(num_cpus=0)(_Board)).options(scheduling_strategy=on_this_node).remote()
    ended = threading.Event()

    def listen() -> None:
        last_round = False
        while not last_round:
            last_round = ended.wait(_POLL_SECONDS)
            for kind, step, value in cast(list[tuple[str, int, Any]], ray.get(board.take.remote())):
                getattr(listener, kind)(step, value)

    thread = threading.Thread(target=listen, name="relay", daemon=True)
    thread.start()
    try:
        yield Relay(board)
    finally:
        ended.set()
        thread.join()
        ray.kill(board)
