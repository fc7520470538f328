"""Join the cluster that is there, or start a small one on this machine; leave behind only what was there before."""

import logging
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager

import ray
import ray.data
from ray.data import DataContext
from ray.exceptions import AuthenticationError

from layoutray.errors import ClusterError

_NO_PROGRESS_SECONDS = 120.0
"""A pipeline that cannot get the CPUs it asks for says nothing and waits; after this long it fails with a message."""
_SLOWEST_BATCH_SECONDS = 3600.0
"""A model of long documents takes minutes on a CPU for those of a shard."""
_CORES = "layoutray_cores"
"""Custom resource of a cluster started here: its real cores. Its logical CPUs are more, see `_start`."""
_ANSWER_SECONDS = 10.0
_ONE_THREAD = {"OMP_THREAD_LIMIT": "1"}
"""Tesseract's own threads make it several times slower when every core has its process."""


@contextmanager
def connect(*, cores: int | None = None, dashboard: bool = False) -> Generator[None]:
    """A connected Ray for the `with` block; what was started here is stopped at its end.

    In a job (`ray job submit`), or where `RAY_ADDRESS` is set, that cluster is joined; where this process is connected
    already nothing happens; else a cluster is started on this machine.

    Args:
        cores: of this machine to use for a cluster started here; all by default.
        dashboard: serve Ray's dashboard on 127.0.0.1:8265 for a cluster started here.

    Raises:
        ClusterError: when the cluster that `RAY_ADDRESS` names does not answer, or refuses the token that this process has or lacks; when
            none can be started.
    """
    if ray.is_initialized():
        _configure()
        yield
        return
    if os.environ.get("RAY_ADDRESS"):
        _join()
    else:
        _start(cores or num_cores(), dashboard=dashboard)
    _configure()
    try:
        yield
    finally:
        ray.shutdown()


def num_workers() -> int:
    """Processes that keep the connected cluster busy: one for each core."""
    resources = ray.cluster_resources()
    return max(int(resources.get(_CORES, resources.get("CPU", 1))), 1)


def grows() -> bool:
    """Whether nodes may join the connected cluster; one that was started here stays as it is."""
    return _CORES not in ray.cluster_resources()


def allow_slow_batches(data: ray.data.Dataset) -> None:
    """Let a model take its time for each batch of `data`, in which Ray sees no progress."""
    data.context.execution_no_progress_timeout_s += _SLOWEST_BATCH_SECONDS


def num_cores() -> int:
    """Cores of this machine that this process may use."""
    return len(os.sched_getaffinity(0))


def _join() -> None:
    address = os.environ["RAY_ADDRESS"]
    if address not in ("auto", "local") and not address.startswith("ray://"):
        _require_head(address)
    try:
        with _native_notes_silenced():
            ray.init(runtime_env={"env_vars": _ONE_THREAD}, logging_level=logging.ERROR, log_to_driver=False)
    except Exception as error:  # of any type, bare exceptions among them
        if not isinstance(error, AuthenticationError) and "InvalidAuthToken" not in str(error.__cause__):
            raise _absent(address, str(error)) from error
        raise ClusterError(
            f"Ray at {address}, which RAY_ADDRESS names, asks for its token, and this process has none or another: export "
            "RAY_AUTH_MODE=token, and put the token of its head into ~/.ray/auth_token or RAY_AUTH_TOKEN"
        ) from error


def _require_head(address: str) -> None:
    """Raise ClusterError where no Ray can be: Ray itself would go on trying for many minutes."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), port), _ANSWER_SECONDS) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            is_web_server = connection.recv(5) == b"HTTP/"
    except (OSError, UnicodeError) as error:
        raise _absent(address, str(error)) from error
    if is_web_server:
        raise _absent(address, "a web server is there, perhaps its dashboard")


def _absent(address: str, reason: str) -> ClusterError:
    return ClusterError(
        f"no Ray answers at {address}, which RAY_ADDRESS names ({reason}): start it, give HOST:PORT of its head (mostly port 6379), "
        "or unset RAY_ADDRESS to use this machine"
    )


def _start(cores: int, *, dashboard: bool) -> None:
    os.environ.update(_ONE_THREAD)
    # Fractional CPUs mean many small processes; Ray warns about each few of them otherwise.
    os.environ.setdefault("RAY_worker_maximum_startup_concurrency", "16")
    # Ray Data's own short tasks ask for a whole CPU each. With no more logical CPUs than cores, workers that fill the
    # cores would starve them, and the pipeline would wait for ever.
    try:
        with _native_notes_silenced():
            ray.init(
                address="local",
                num_cpus=2 * cores + 2,
                resources={_CORES: cores},
                include_dashboard=dashboard,
                dashboard_host="127.0.0.1",
                logging_level=logging.ERROR,
                log_to_driver=False,
            )
    except Exception as error:  # of any type, bare exceptions among them
        raise ClusterError(
            f"Ray does not start on this machine ({error}); where other programs keep the machine busy, try again when they are done; "
            "or set RAY_ADDRESS to join a cluster"
        ) from error


@contextmanager
def _native_notes_silenced() -> Generator[None]:
    """Ray's native core writes notes about its own internals to the terminal as errors; what really fails is raised as well."""
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    logging.getLogger("ray").setLevel(logging.ERROR)
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # it says at once, and past Python, that it took note of the level
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _configure() -> None:
    context = DataContext.get_current()
    context.execution_no_progress_timeout_s = _NO_PROGRESS_SECONDS
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
