"""The fixture `server`: a real MLflow server."""

import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from multiprocessing.process import BaseProcess

import mlflow.cli
import pytest

from tests import fork_server
from tests.mlflow_store import new_store

QUIET = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real MLflow server with its own SQLite file and artifact folder."""
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    places = ["--backend-store-uri", new_store(folder), "--artifacts-destination", str(folder / "artifacts")]
    command = ["server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1", *places]
    process = fork_server.start(_mlflow, command, str(folder / "log"), environment=QUIET)
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        assert process.pid
        os.killpg(process.pid, signal.SIGTERM)
        process.join(20)


def _mlflow(arguments: list[str], log: str) -> None:
    """MLflow's command, in a process group of its own."""
    os.setsid()
    with open(log, "wb") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    mlflow.cli.cli(arguments)


def _wait_for(address: str, process: BaseProcess) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process.exitcode is None, "the server has ended"
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise AssertionError(f"{address} does not answer")
