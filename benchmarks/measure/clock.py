"""The device of a measurement, and the time that a call takes on it."""

import time
from collections.abc import Callable

import torch


def device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def wait(device: torch.device) -> None:
    """Wait until the GPU has finished all queued work; does nothing on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(run: Callable[[], object], device: torch.device) -> float:
    """Seconds that `run` takes, including all work that it queues on `device`."""
    wait(device)
    started = time.perf_counter()
    run()
    wait(device)
    return time.perf_counter() - started
