"""Processes that share imports: each is forked from one server process, which imports PyTorch and MLflow once.

A process that a test starts with `python -c` needs five seconds of CPU time for these imports.
"""

import multiprocessing
import os
from collections.abc import Callable, Mapping
from multiprocessing.process import BaseProcess
from typing import Any

_PRELOADED = [
    "layoutray.cli.shared.tracked_training",
    "layoutray.serving.trial",
    "layoutray.tracking",
    "layoutray.training.train",
]


def start(function: Callable[..., Any], *arguments: Any, environment: Mapping[str, str] | None = None) -> BaseProcess:
    """Start a process that calls the module-level `function`, with `environment` added to that of the first start."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    process = context.Process(target=_run, args=(dict(environment or {}), function, arguments))
    process.start()
    return process


def exit_code(process: BaseProcess, seconds: float = 120.0) -> int | None:
    """Exit code of `process` after at most so many seconds; None if it has not ended, in which case it is killed."""
    process.join(seconds)
    code = process.exitcode
    process.kill()
    return code


def _run(environment: dict[str, str], function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    os.environ.update(environment)
    function(*arguments)
