"""Try a version in a process of its own with limited memory and time, before a replica loads it.

Checks of a checkpoint's files cannot tell how long native code takes, for example that of a tokenizer, and a thread in
native code cannot be ended. A process can.
"""

import contextlib
import logging
import multiprocessing
import os
import resource
import signal
import traceback
from collections.abc import Mapping
from functools import partial
from multiprocessing.connection import Connection

import psutil
import torch

from layoutray import checkpoint, tokenizer
from layoutray.devices import CPU
from layoutray.serving.model import Loader, Version, VersionError

_SECONDS = 480.0
"""For a trial, with the download of the checkpoint."""
_PROCESSOR_SECONDS = 120.0
_SPARE = 2**31
"""Bytes that a trial may take besides its weights; each thread of a library that downloads takes some."""
_GROWTH = 10
"""Bytes for each byte of weights: integers of 8 bits become floats of 32, once read and once in the model."""
_LONGEST = 10_000
"""Characters of a traceback in the log."""

_log = logging.getLogger(__name__)


def load_tried(loader: Loader, version: Version) -> None:
    """Load a version and answer its example in another process, on the CPU; nothing of it stays in memory.

    Raises:
        VersionError: as `Loader.load`; `broken` also when the process took too much memory or time, or died.
    """
    # Trials are forked from one server process, which imports PyTorch once.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["__main__", __name__])
    receiver, sender = processes.Pipe(duplex=False)
    there = Loader(CPU, loader.fetch, loader.beams, partial(int, loader.free()))
    limits = _SECONDS, _PROCESSOR_SECONDS
    process = processes.Process(target=_try, args=(sender, there, version, limits, dict(os.environ)))
    process.start()
    sender.close()
    try:
        if not receiver.poll(_SECONDS):
            raise VersionError(version, "broken", f"it cannot be loaded and tried within {_SECONDS:g} s")
        refusal, trace = receiver.recv()
    except EOFError:
        process.join()
        status = process.exitcode or 0
        name = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        message = f"the process that tried it has died of {name}, possibly out of memory"
        late = {-signal.SIGALRM: f"{_SECONDS:g} s", -signal.SIGPROF: f"{_PROCESSOR_SECONDS:g} s of processor time"}
        if status in late:
            message = f"it cannot be loaded and tried within {late[status]}"
        raise VersionError(version, "broken", message) from None
    finally:
        process.kill()
        process.join()
        receiver.close()
    if refusal:
        _log.error("%s cannot be served: %s", version.checkpoint, trace)
        raise refusal


def _try(
    sender: Connection, loader: Loader, version: Version, limits: tuple[float, float], environment: Mapping[str, str]
) -> None:
    """Send the refusal of a version, None if there is none, and its traceback.

    Args:
        limits: seconds of the clock and of the processor.
        environment: of the process that asks. The server process may be older.
    """
    os.environ.clear()
    os.environ.update(environment)
    seconds, processor_seconds = limits
    logging.disable()  # the other process logs what is sent
    os.nice(5)  # requests go first
    torch.set_num_threads(1)
    signal.setitimer(signal.ITIMER_REAL, seconds)  # also if the other process has died
    signal.setitimer(signal.ITIMER_PROF, processor_seconds)
    _limit(resource.RLIMIT_FSIZE, loader.free())
    try:
        _limit_memory(_SPARE)
        weights = loader.weights(version)
        _limit_memory(_SPARE + _GROWTH * weights)
        tokenizer.require_short(checkpoint.read_vocabulary(loader.fetch(version.checkpoint)))
        loader.load(version)
    except BaseException as error:  # a panic of Rust is no Exception
        trace = traceback.format_exc()[-_LONGEST:]
        message = f"it cannot be loaded and tried ({type(error).__name__}); the log of the endpoint says why"
        sender.send((error if isinstance(error, VersionError) else VersionError(version, "broken", message), trace))
    else:
        sender.send((None, ""))


def _limit_memory(more: int) -> None:
    """Let this process take so many bytes more than it has now, without what is only mapped."""
    with contextlib.suppress(AttributeError):  # systems without this limit
        _limit(resource.RLIMIT_DATA, psutil.Process().memory_info().data + more)


def _limit(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    with contextlib.suppress(ValueError, OSError):  # systems without this limit
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
