"""Where measurements run, and how long something takes there."""

import time
from collections.abc import Callable

import torch


def device() -> torch.device:
    """The accelerator, if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def wait(device: torch.device) -> None:
    """Until the accelerator has done what it was asked for."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(run: Callable[[], object], device: torch.device) -> float:
    """That `run` takes on `device`, all of its work done."""
    wait(device)
    started = time.perf_counter()
    run()
    wait(device)
    return time.perf_counter() - started
