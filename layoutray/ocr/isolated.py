"""Recognition in a child process: native code that crashes or hangs fails only the page it was reading."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

import psutil

from layoutray import config
from layoutray.errors import DocumentError, InputError, MissingDependencyError, Reason
from layoutray.ocr.frames import PAGE, Channel, Head
from layoutray.ocr.page import RecognisedPage
from layoutray.ocr.settings import Recognition

_START_SECONDS = 120.0  # for the child to import its libraries on a busy machine
_MAX_IDLE_MEMORY = 1 << 30  # bytes; a child without leaks holds about a tenth of it between pages
_ONE_THREAD = {"OMP_THREAD_LIMIT": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(slots=True)
class _Child:
    process: subprocess.Popen[bytes]
    channel: Channel
    output: IO[bytes]
    file: bytes | None = None
    """The last file sent to the child; requests for its other pages do not send it again."""


class IsolatedRecogniser:
    """Runs recognition in one child process, which starts with the first page and again after it died. Thread-safe.

    Args:
        max_idle_memory: bytes that the child may hold between pages. A child that holds more (native code leaks) is
            ended; the next page starts a new one.
    """

    def __init__(self, settings: Recognition, *, max_idle_memory: int = _MAX_IDLE_MEMORY) -> None:
        self._settings = settings
        self._max_idle_memory = max_idle_memory
        self._lock = threading.Lock()
        self._child: _Child | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the child; None when none is running."""
        return self._child.process.pid if self._child else None

    def count_pages(self, data: bytes) -> int:
        """As `render.count_pages`. Raises DocumentError, also for a timeout or crash (stage `open`)."""
        return int(self._request({"do": "count_pages"}, data, "open")["num_pages"])

    def recognise(self, data: bytes, number: int) -> RecognisedPage:
        """As `page.recognise_page`.

        Raises:
            DocumentError: as `page.recognise_page`; also timeout, worker_crash or out_of_memory (stage `ocr`).
            MissingDependencyError: when the engine is not installed.
        """
        return PAGE.validate_python(self._request({"do": "recognise", "number": number}, data, "ocr")["page"])

    def close(self) -> None:
        """End the child. A later page starts a new one."""
        with self._lock:
            if self._child:
                self._end(self._child)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def _request(self, request: Head, data: bytes, stage: str) -> Head:
        with self._lock:
            child = self._child = self._child or _start(self._settings)
            try:
                until = time.monotonic() + self._settings.deadline
                same_file = child.file is not None and (data is child.file or data == child.file)
                child.output.truncate(0)
                child.file = data
                content = b"" if same_file else data
                child.channel.send({**request, "same_file": same_file}, content, deadline=self._settings.deadline)
                answer, _ = child.channel.receive(deadline=until - time.monotonic())
            except TimeoutError as error:
                self._end(child)
                seconds = self._settings.deadline
                raise DocumentError(
                    Reason.TIMEOUT,
                    f"recognition took longer than recognition.deadline = {seconds:g} s; its process was ended",
                    stage=stage,
                ) from error
            except (EOFError, OSError) as error:
                raise self._end(child, stage) from error
            except BaseException:
                # Interrupted (Ctrl-C, a cancelled task): a late answer would be taken for that of the next page.
                self._end(child)
                raise
            # Native code that ran out of memory may keep what it had, so that the next page would fail too.
            out_of_memory = answer.get("reason") == Reason.OUT_OF_MEMORY
            if out_of_memory or _memory_of(child.process.pid) > self._max_idle_memory:
                self._end(child)
        if "missing" in answer:
            raise MissingDependencyError(answer["missing"])
        if "refused" in answer:
            raise InputError(answer["refused"])
        if "reason" in answer:
            error = DocumentError(Reason(answer["reason"]), answer["message"], stage=answer["stage"])
            if answer["trace"]:
                error.add_note(answer["trace"])
            raise error
        return answer

    def _end(self, child: _Child, stage: str = "") -> DocumentError:
        self._child = None
        return _end(child, "recognition crashed", stage)


def _memory_of(pid: int) -> int:
    """Resident memory in bytes; 0 when the process has ended."""
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def _start(settings: Recognition) -> _Child:
    ours, theirs = socket.socketpair()
    output = tempfile.TemporaryFile("a+b")  # noqa: SIM115  (lives as long as the child)
    # The child must import the same layoutray as this process, also from a cluster's working directory.
    package = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "layoutray.ocr.child", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=output,  # keeps the output of libraries out of the parent's streams
            stderr=output,
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": path},
            pass_fds=(theirs.fileno(),),
            start_new_session=True,  # a process group: kills the engine's programs too; Ctrl-C reaches only the parent
        )
    child = _Child(process, Channel(ours), output)
    try:
        child.channel.send(config.to_dict(settings), deadline=_START_SECONDS)
        answer = child.channel.receive(deadline=_START_SECONDS)[0]
    except (EOFError, OSError) as error:
        raise _end(child, "recognition could not start", "open") from error
    if "refused" in answer:
        _end(child, "recognition could not start", "open")
        raise InputError(answer["refused"])
    return child


def _end(child: _Child, what: str, stage: str) -> DocumentError:
    """Kill the child and the processes that it started. The error says what happened, if the child died before."""
    child.channel.close()
    died_itself = _died_within(child.process.pid, 0.2)  # a crash closes the channel before the process ends
    # Kill before wait: the process id cannot be reused until then.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.process.pid, signal.SIGKILL)
    status = child.process.wait()
    child.output.seek(0)
    output = child.output.read().decode(errors="replace").strip()
    child.output.close()
    if not died_itself:
        cause = "it closed the channel"
    elif status >= 0:
        cause = f"its process ended with exit status {status}"
    else:
        name = signal.Signals(-status).name
        cause = f"its process died of {name}{', possibly out of memory' if name == 'SIGKILL' else ''}"
    error = DocumentError(Reason.WORKER_CRASH, f"{what}: {cause}", stage=stage)
    if output:
        error.add_note(output)
    return error


def _died_within(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    try:
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
    except ChildProcessError:  # another part of the host process has already waited for the child
        return True
    return True
