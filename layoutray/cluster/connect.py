"""Join a Ray cluster, or start one on this machine and stop it afterwards."""

import logging
import os
import socket
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager

import ray
import ray.data
from ray.data import DataContext
from ray.exceptions import AuthenticationError

from layoutray.cluster import ray_internals
from layoutray.errors import ClusterError

_NO_PROGRESS_SECONDS = 120.0
"""A Ray Data pipeline that cannot get its CPUs waits silently. After this time it fails with a message."""
_NODE_START_SECONDS = 900.0
"""A cluster without CPUs is one whose nodes start when work waits, which takes minutes."""
_SLOWEST_BATCH_SECONDS = 3600.0
"""A model may take minutes on a CPU for a shard of long documents."""
_CORES = "layoutray_cores"
"""Custom resource of a cluster that `_start` has started: its physical cores. It has more logical CPUs."""
_ANSWER_SECONDS = 10.0
_ENDED = (
    "error: the program has ended before its work was done: it was killed, or the Ray cluster was lost, for example "
    "because the machine slept or had no memory left; the same command goes on with what is there"
)
_ENVIRONMENT = {"OMP_THREAD_LIMIT": "1"}
"""Of Ray's processes. Tesseract's own threads make it several times slower if every core already has a process."""


@contextmanager
def connect(*, cores: int | None = None, gpus: int | None = None, dashboard: bool = False) -> Generator[None]:
    """Connect to Ray for the duration of the `with` block.

    If this process is already connected, nothing happens. If `RAY_ADDRESS` is set, as in a job (`ray job submit`), that
    cluster is joined. Else a cluster is started on this machine, and stopped at the end of the block.

    Args:
        cores: cores for a cluster started here; default: all cores of this machine.
        gpus: GPUs for a cluster started here; default: all that PyTorch can use. 0 does not import PyTorch.
        dashboard: serve Ray's dashboard on 127.0.0.1:8265, for a cluster started here.

    Raises:
        ClusterError: if the cluster at `RAY_ADDRESS` does not answer or refuses this process's token, or no cluster can
            be started.
    """
    if ray.is_initialized():
        _configure()
        yield
        return
    if os.environ.get("RAY_ADDRESS"):
        _join()
    else:
        if gpus is None:
            from layoutray.devices import visible_gpus  # imports PyTorch

            gpus = visible_gpus()  # Ray would also count GPUs that this build of PyTorch cannot use
        _start(cores or num_cores(), gpus, dashboard=dashboard)
    _configure()
    try:
        with _sudden_end_reported():
            yield
    finally:
        ray.shutdown()


@contextmanager
def _sudden_end_reported() -> Generator[None]:
    """Write a message to stderr if this process ends within the block without an exception.

    The native code of Ray ends it without a message when the cluster is lost. A shell waits for a line, or for the end.
    """
    command = ["sh", "-c", f"read -r line || echo '{_ENDED}' >&2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as shell:
        try:
            yield
        finally:
            shell.communicate(b"\n")


def num_workers() -> int:
    """Number of processes that keep the cluster busy: one for each core."""
    resources = ray.cluster_resources()
    return max(int(resources.get(_CORES, resources.get("CPU", 1))), 1)


def grows() -> bool:
    """Whether nodes may join the cluster. A cluster started here does not grow."""
    return _CORES not in ray.cluster_resources()


def no_progress_seconds(resources: Mapping[str, float]) -> float:
    """Seconds for which Ray Data waits for CPUs on a cluster with `resources`. Without any, nodes have to start."""
    return _NO_PROGRESS_SECONDS + (0 if resources.get("CPU") else _NODE_START_SECONDS)


def allow_slow_batches(data: ray.data.Dataset) -> None:
    """Raise the time that Ray waits for progress, because a model may take long for one batch of `data`."""
    data.context.execution_no_progress_timeout_s += _SLOWEST_BATCH_SECONDS


def num_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def _join() -> None:
    address = os.environ["RAY_ADDRESS"]
    if address not in ("auto", "local") and not address.startswith("ray://"):
        _require_head(address)
    try:
        with _native_log_silenced():
            ray.init(runtime_env={"env_vars": _ENVIRONMENT}, logging_level=logging.ERROR, log_to_driver=False)
    except Exception as error:  # Ray raises exceptions of many types, Exception itself included
        if not isinstance(error, AuthenticationError) and "InvalidAuthToken" not in str(error.__cause__):
            raise _no_answer(address, str(error)) from error
        raise ClusterError(
            f"Ray at {address} (RAY_ADDRESS) requires a token, and this process has none or a wrong one; set "
            "RAY_AUTH_MODE=token, and put the token of the head node into ~/.ray/auth_token or RAY_AUTH_TOKEN"
        ) from error


def _require_head(address: str) -> None:
    """Raise ClusterError if nothing answers at `address`, or a web server. Ray itself would try for many minutes."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), port), _ANSWER_SECONDS) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            is_web_server = connection.recv(5) == b"HTTP/"
    except (OSError, UnicodeError) as error:
        raise _no_answer(address, str(error)) from error
    if is_web_server:
        raise _no_answer(address, "a web server answers, perhaps Ray's dashboard")


def _no_answer(address: str, reason: str) -> ClusterError:
    return ClusterError(
        f"no Ray answers at {address} (RAY_ADDRESS): {reason}; start Ray there, set RAY_ADDRESS to HOST:PORT of its "
        "head node (usually port 6379), or unset RAY_ADDRESS to use this machine"
    )


def _start(cores: int, gpus: int, *, dashboard: bool) -> None:
    os.environ.update(_ENVIRONMENT)
    # Fractional CPUs result in many small processes. Without this setting, Ray warns about them.
    os.environ.setdefault("RAY_worker_maximum_startup_concurrency", "16")
    # Nobody takes this machine away from Ray, so a training here needs no process that watches for it.
    os.environ.setdefault("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")
    # Ray Data's own short tasks need a whole logical CPU each. If there were only as many logical CPUs as cores, the
    # workers would take all of them, and the pipeline would wait forever.
    try:
        with _native_log_silenced(), ray_internals.on_loopback():
            ray.init(
                address="local",
                num_cpus=2 * cores + 2,
                num_gpus=gpus,
                resources={_CORES: cores},
                include_dashboard=dashboard,
                dashboard_host="127.0.0.1",
                logging_level=logging.ERROR,
                log_to_driver=False,
            )
    except Exception as error:  # Ray raises exceptions of many types, Exception itself included
        raise ClusterError(
            f"Ray does not start on this machine ({error}); if other programs keep the machine busy, try again later, "
            "or set RAY_ADDRESS to join a cluster"
        ) from error


@contextmanager
def _native_log_silenced() -> Generator[None]:
    """Silence the native log of Ray, which writes internal notes to stderr as errors. Real failures are raised."""
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    logging.getLogger("ray").setLevel(logging.ERROR)
    stderr = os.dup(2)
    with open(os.devnull, "wb") as devnull:
        os.dup2(devnull.fileno(), 2)  # the native code writes to the descriptor itself, also to confirm the log level
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def _configure() -> None:
    context = DataContext.get_current()
    context.execution_no_progress_timeout_s = no_progress_seconds(ray.cluster_resources())
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
