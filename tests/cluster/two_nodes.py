"""A Ray of two nodes on this machine, in its own process with its own ports and folder. Tests can kill its parts."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

_PATIENCE = 300.0  # seconds without the next moment of a hunt, after which something hangs

# Ray gives a node half a minute to start, too little on a busy machine.
_CLUSTER = """
import os, signal, sys
from ray.cluster_utils import Cluster
def own_disk(name):
    return {"LAYOUTRAY_CACHE": os.environ["RAY_TMPDIR"] + "/cache-" + name}
head = {"num_cpus": 3, "include_dashboard": False, "env_vars": own_disk("first")}
nodes = Cluster(initialize_head=True, head_node_args=head)
def another():
    for attempt in range(5):
        try:
            return nodes.add_node(num_cpus=3, env_vars=own_disk("second"))
        except Exception as error:
            print(error, file=sys.stderr)
    sys.exit("no second node")
second = another()
print(nodes.address, flush=True)
for victim in sys.stdin:
    os.kill(second.all_processes["raylet"][0].process.pid, signal.SIGKILL)
    nodes.remove_node(second, allow_graceful=False)
    second = another() if victim.strip() == "raylet" else None
    print("done", flush=True)
nodes.shutdown()
"""

# By default Ray takes half a minute to see that a node is gone, and on a busy machine its workers starve.
_SETTINGS = {
    "RAY_health_check_initial_delay_ms": "2000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_worker_niceness": "0",
}


SECOND = ("raylet", "node", "link")
"""Losses of the second node: its `raylet` (a new node replaces it), the `node`, or its `link` (no replacement)."""


@dataclass(frozen=True)
class Kill:
    """Attributes:
    at: how much has to be done before.
    victim: `driver`, one of SECOND, or a text in the command line of a process of either node.
    pause: seconds from that moment to the kill.
    """

    at: int
    victim: str
    pause: float


@dataclass
class TwoNodes:
    """Attributes:
    roots: what the processes of the nodes descend from.
    environment: for drivers that are to join.
    lose: takes from the second node what is named, one of SECOND; whether there was anything to take.
    inside: words before a command that make it run on the first node.
    """

    roots: Sequence[subprocess.Popen[str]]
    environment: dict[str, str]
    lose: Callable[[str], bool]
    inside: Sequence[str] = ()

    def run_through(self, command: Sequence[str], log: Path, kills: Sequence[Kill], done: Callable[[], int]) -> int:
        """Run `command` until it succeeds, and restart it when it fails; carry out `kills` in their order meanwhile.

        Returns the number of starts.
        """
        starts = 0

        def start() -> subprocess.Popen[bytes]:
            nonlocal starts
            starts += 1
            with log.open("ab") as stream:
                whole = [*self.inside, *command]
                return subprocess.Popen(
                    whole, env=self.environment, stdout=stream, stderr=stream, start_new_session=True
                )

        driver = start()
        try:
            for kill in kills:
                until = time.monotonic() + _PATIENCE
                while done() < kill.at or not self._kill(kill, driver):
                    assert driver.poll() != 0, f"it has ended before {kill}"
                    assert time.monotonic() < until, f"nothing goes on before {kill}; see {log}"
                    driver = driver if driver.poll() is None else start()
                    time.sleep(0.02)
            while driver.wait(_PATIENCE):
                assert starts <= len(kills) + 1, log.read_text()[-4000:]
                driver = start()
        finally:
            driver.kill()
            driver.wait()
        return starts

    def _kill(self, kill: Kill, driver: subprocess.Popen[bytes]) -> bool:
        """Whether there was anybody to kill."""
        workers = self.processes(kill.victim)
        if driver.poll() is not None or (kill.victim not in ("driver", *SECOND) and not workers):
            return False
        time.sleep(kill.pause)
        if kill.victim in SECOND:
            return self.lose(kill.victim)
        if kill.victim == "driver":
            driver.kill()
            driver.wait()
        else:
            with contextlib.suppress(psutil.NoSuchProcess):
                workers[0].kill()
        return True

    def processes(self, mark: str) -> list[psutil.Process]:
        """Of either node, those whose command line has `mark`."""
        return [process for root in self.roots for process in below(root, mark)]


def below(root: subprocess.Popen[str], mark: str) -> list[psutil.Process]:
    """The descendants of `root` whose command line has `mark`."""
    return marked(_descendants(root), mark)


def marked(processes: Iterable[psutil.Process], mark: str) -> list[psutil.Process]:
    """Those of `processes` whose command line has `mark`. A process that has ended has none."""
    found: list[psutil.Process] = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if mark in " ".join(process.cmdline()):
                found.append(process)
    return found


def settings(environment: Mapping[str, str], folder: str) -> dict[str, str]:
    """The environment of the processes of a Ray: `environment` and the settings of a Ray with the folder `folder`."""
    inherited = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return inherited | _SETTINGS | {"RAY_TMPDIR": folder, "RAY_AUTH_MODE": "disabled", **environment}


@contextmanager
def two_nodes(environment: Mapping[str, str]) -> Generator[TwoNodes]:
    """The nodes while the block runs; their workers have `environment`.

    The second node can lose its `raylet`, or be lost as a whole (`node`).
    """
    folder = tempfile.mkdtemp(prefix="ray-")  # not below a test's: the names of Ray's sockets have to be short
    values = settings(environment, folder)
    command = [sys.executable, "-c", _CLUSTER]
    with subprocess.Popen(command, env=values, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ask, answers = process.stdin, process.stdout

        def lose(victim: str) -> bool:
            ask.write(f"{victim}\n")
            ask.flush()
            assert answers.readline().strip() == "done"
            return True

        try:
            address = answers.readline().strip()
            assert address, "the nodes did not start"
            yield TwoNodes([process], values | {"RAY_ADDRESS": address}, lose)
            process.communicate(timeout=60)
        finally:
            kill_tree(process)
    shutil.rmtree(folder, ignore_errors=True)


def kill_tree(process: subprocess.Popen[str]) -> None:
    """Kill a process and all that it has started, unless it has ended."""
    for one in [*_descendants(process), process] if process.poll() is None else []:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()


def _descendants(root: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(root.pid).children(recursive=True) if root.poll() is None else []


_EMPTY_CLUSTER = """
import sys
from ray.cluster_utils import Cluster
nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
print(nodes.address, flush=True)
for _ in sys.stdin:
    nodes.add_node(num_cpus=6)
    print("joined", flush=True)
nodes.shutdown()
"""


@contextmanager
def empty_cluster() -> Generator[tuple[dict[str, str], Callable[[], None]]]:
    """A Ray whose only node has no CPUs, while the block runs.

    Yields the environment of drivers that are to join it, and a function that adds a node of 6 CPUs.
    """
    folder = tempfile.mkdtemp(prefix="ray-")
    values = settings({"OMP_NUM_THREADS": "1"}, folder)
    command = [sys.executable, "-c", _EMPTY_CLUSTER]
    with subprocess.Popen(command, env=values, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ask, answers = process.stdin, process.stdout

        def add_node() -> None:
            ask.write("another\n")
            ask.flush()
            assert answers.readline().strip() == "joined"

        try:
            address = answers.readline().strip()
            assert address, "the cluster did not start"
            yield values | {"RAY_ADDRESS": address}, add_node
            process.communicate(timeout=60)
        finally:
            kill_tree(process)
    shutil.rmtree(folder, ignore_errors=True)
