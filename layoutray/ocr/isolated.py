"""Recognition in a process of its own: native code that crashes or hangs on a page costs that page and nothing else."""

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

import layoutray
from layoutray.errors import DocumentError, InputError, MissingDependencyError, Reason
from layoutray.ocr.frames import Channel, Head, page_of, settings_head
from layoutray.ocr.page import RecognisedPage
from layoutray.ocr.settings import Recognition

_START = 120.0  # seconds for the child to import its libraries on a busy machine
_KEPT = 1 << 30  # bytes; a child that leaks nothing holds about a tenth of it, whatever it has read
_ONE_THREAD = {"OMP_THREAD_LIMIT": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(slots=True)
class _Child:
    process: subprocess.Popen[bytes]
    channel: Channel
    complaints: IO[bytes]
    file: bytes | None = None
    """The file that the child was sent last; further pages of it need not be sent again."""


@dataclass(frozen=True, slots=True)
class _Death:
    cause: str
    last_words: str

    def error(self, what: str, stage: str) -> DocumentError:
        error = DocumentError(Reason.WORKER_CRASH, f"{what}: {self.cause}", stage=stage)
        if self.last_words:
            error.add_note(self.last_words)
        return error


class IsolatedRecogniser:
    """Reads pages in one child process, started at the first page and again after each death. Callers take turns.

    Args:
        kept: bytes of memory that the child may hold between pages. One that holds more, as native code leaks, is ended, and the next page
            starts another.
    """

    def __init__(self, settings: Recognition, *, kept: int = _KEPT) -> None:
        self._settings = settings
        self._kept = kept
        self._turn = threading.Lock()
        self._child: _Child | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the child; None while there is none."""
        return self._child.process.pid if self._child else None

    def count_pages(self, data: bytes) -> int:
        """As `render.count_pages`. Raises DocumentError, also for a time-out or crash (stage `open`)."""
        return int(self._ask({"do": "count_pages"}, data, "open")["num_pages"])

    def recognise(self, data: bytes, number: int) -> RecognisedPage:
        """As `page.recognise_page`.

        Raises:
            DocumentError: as there, and timeout, worker_crash or out_of_memory (stage `ocr`).
            MissingDependencyError: when the engine is not installed.
        """
        return page_of(self._ask({"do": "recognise", "number": number}, data, "ocr")["page"])

    def close(self) -> None:
        """End the child; the next page would start another."""
        with self._turn:
            if self._child:
                self._end(self._child)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def _ask(self, request: Head, data: bytes, stage: str) -> Head:
        with self._turn:
            child = self._child = self._child or _start(self._settings)
            try:
                answer = _exchange(child, request, data, self._settings.tesseract.deadline)
            except TimeoutError as error:
                self._end(child)
                seconds = self._settings.tesseract.deadline
                raise DocumentError(
                    Reason.TIMEOUT,
                    f"not done within tesseract.deadline = {seconds:g} s; its process was ended",
                    stage=stage,
                ) from error
            except (EOFError, OSError) as error:
                raise self._end(child).error("recognition crashed", stage) from error
            except BaseException:
                # Interrupted half-way (Ctrl-C, a cancelled task): the child's answer would be taken for the next page's.
                self._end(child)
                raise
            if _held(child.process.pid) > self._kept:
                self._end(child)
        return _checked(answer)

    def _end(self, child: _Child) -> _Death:
        """Kill the child with all that it started."""
        self._child = None
        return _end(child)


def _held(pid: int) -> int:
    """Bytes of memory; 0 of a process that is gone."""
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def _exchange(child: _Child, request: Head, data: bytes, deadline: float) -> Head:
    until = time.monotonic() + deadline
    same_file = child.file is not None and (data is child.file or data == child.file)
    child.complaints.truncate(0)
    child.file = data
    child.channel.send({**request, "same_file": same_file}, b"" if same_file else data, deadline=deadline)
    return child.channel.receive(deadline=until - time.monotonic())[0]


def _checked(answer: Head) -> Head:
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


def _start(settings: Recognition) -> _Child:
    ours, theirs = socket.socketpair()
    complaints = tempfile.TemporaryFile("a+b")  # noqa: SIM115  (lives as long as the child)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "layoutray.ocr.child", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=complaints,  # libraries that print must not reach anybody's output
            stderr=complaints,
            env=_environment(),
            pass_fds=(theirs.fileno(),),
            start_new_session=True,  # a group of its own: the engine's programs end with it, and Ctrl-C is the parent's to handle
        )
    child = _Child(process, Channel(ours), complaints)
    try:
        child.channel.send(settings_head(settings), deadline=_START)
        child.channel.receive(deadline=_START)
    except (EOFError, OSError) as error:
        raise _end(child).error("recognition could not start", "open") from error
    return child


def _environment() -> dict[str, str]:
    # The child must find the same layoutray as this process, wherever a cluster has unpacked it.
    package = str(Path(layoutray.__file__).parents[1])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    return {**os.environ, **_ONE_THREAD, "PYTHONPATH": path}


def _end(child: _Child) -> _Death:
    child.channel.close()
    alone = _died_within(child.process.pid, 0.2)  # a crash closes the channel a moment before the process is gone
    # Before it is waited for: until then its number cannot be another process's.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.process.pid, signal.SIGKILL)
    status = child.process.wait()
    child.complaints.seek(0)
    last_words = child.complaints.read().decode(errors="replace").strip()
    child.complaints.close()
    return _Death(_cause(status) if alone else "it closed the channel", last_words)


def _died_within(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    try:
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
    except ChildProcessError:  # a host that waits for every child has been here before
        return True
    return True


def _cause(status: int) -> str:
    if status >= 0:
        return f"its process ended with exit status {status}"
    name = signal.Signals(-status).name
    return f"its process died of {name}{', perhaps for want of memory' if name == 'SIGKILL' else ''}"
