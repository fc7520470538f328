"""Reports of trainings in other processes, for reporters in this one."""

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from layoutray.training.reporter import Reporter

_POLL_SECONDS = 0.5
"""Between two looks for reports."""


class _Board:
    """An actor that queues calls until the driver takes them."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, str, int, Any]] = []

    def post(self, call: tuple[str, str, int, Any]) -> None:
        self._calls.append(call)

    def take(self) -> list[tuple[str, str, int, Any]]:
        calls, self._calls = self._calls, []
        return calls


class Relay(Reporter):
    """A reporter for another process that forwards everything but states to the driver, without waiting."""

    def __init__(self, board: Any, name: str) -> None:
        self._board, self._name = board, name

    def start(self, step: int, steps: int) -> None:
        self._board.post.remote((self._name, "start", step, steps))

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._board.post.remote((self._name, "metrics", step, dict(values)))


@contextmanager
def relayed(listeners: Mapping[str, Reporter]) -> Generator[Callable[[str], Relay]]:
    """Give the relay by name whose calls reach the listener of that name in this process for the `with` block."""
    # On the driver's node, so that the loss of another node does not end it.
    on_this_node = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    board = cast(Any, ray.remote(num_cpus=0)(_Board)).options(scheduling_strategy=on_this_node).remote()
    ended = threading.Event()

    def listen() -> None:
        last_round = False
        while not last_round:
            last_round = ended.wait(_POLL_SECONDS)
            for name, kind, step, value in cast(list[tuple[str, str, int, Any]], ray.get(board.take.remote())):
                getattr(listeners[name], kind)(step, value)

    thread = threading.Thread(target=listen, name="relay", daemon=True)
    thread.start()
    try:
        yield partial(Relay, board)
    finally:
        ended.set()
        thread.join()
        ray.kill(board)
