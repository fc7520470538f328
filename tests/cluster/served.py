"""An endpoint on a Ray of its own, in processes that tests can kill: single replicas, or the whole node."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.two_nodes import below, kill_tree, settings

NODE = "node"
"""The victim that is every process of the endpoint and its Ray."""
_PATIENCE = 300.0


class Endpoint:
    """The command `layoutray serve`, which is started again when it has ended.

    Attributes:
        starts: of the command.
    """

    def __init__(self, arguments: Sequence[str], log: Path, folder: str) -> None:
        self._command = [sys.executable, "-m", "pipelines.serve", *arguments]
        self._log = log
        self._environment = settings({"OMP_NUM_THREADS": "1"}, folder)
        self.starts = 0
        self._start()

    def _start(self) -> None:
        self.starts += 1
        with self._log.open("ab") as stream:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                text=True,
            )

    def keep_running(self) -> None:
        """Start the command again if it has ended."""
        if self._process.poll() is not None:
            self._start()

    def kill(self, victim: str) -> None:
        """kill -9 of all processes, or of the first one with `victim` in its command line, once there is one."""
        until = time.monotonic() + _PATIENCE
        while victim != NODE:
            self.keep_running()
            if found := below(self._process, victim):
                found[0].kill()
                return
            assert time.monotonic() < until, f"there is no process {victim}; see {self._log}"
            time.sleep(0.05)
        self.stop()

    def stop(self) -> None:
        """kill -9 of all processes."""
        kill_tree(self._process)
        self._process.wait()


@contextmanager
def served(arguments: Sequence[str], log: Path) -> Iterator[Endpoint]:
    """The endpoint while the block runs."""
    folder = tempfile.mkdtemp(prefix="ray-")  # not below a test's: the names of Ray's sockets have to be short
    endpoint = Endpoint(arguments, log, folder)
    try:
        yield endpoint
    finally:
        endpoint.stop()
        shutil.rmtree(folder, ignore_errors=True)
        assert not os.path.exists(folder)
