import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
import ray
from ray.data import DataContext

from layoutray.cluster.connect import connect, no_progress_seconds, num_cores, num_workers
from layoutray.errors import ClusterError


def addresses_of_this_ray() -> set[str]:
    """The addresses at which this process and its children listen."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    found = {one.laddr.ip for process in processes for one in process.net_connections() if one.status == "LISTEN"}
    return {address.removeprefix("::ffff:") for address in found}


@pytest.mark.ray
def test_what_was_started_here_is_stopped_here_and_by_the_outermost_alone() -> None:
    assert not ray.is_initialized()
    with connect(cores=1):
        assert num_workers() == 1
        assert ray.cluster_resources()["CPU"] > 1, "workers on every core must leave Ray's own tasks a CPU"
        assert DataContext.get_current().execution_no_progress_timeout_s <= 120
        assert os.environ["OMP_THREAD_LIMIT"] == "1"
        assert addresses_of_this_ray() == {"127.0.0.1"}, "nothing of it can be reached from the network"
        with connect():
            assert num_workers() == 1
        assert ray.is_initialized()
    assert not ray.is_initialized()


@pytest.mark.ray
def test_a_ray_that_does_not_start_is_said_in_one_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path / ("deep" * 30)))  # longer than the name of a socket may be
    with (
        pytest.raises(ClusterError, match=r"does not start on this machine \(.*107 bytes.*\); if other programs"),
        connect(),
    ):
        pass
    assert not ray.is_initialized()


_LOSES_RAY = """
import time, psutil
from layoutray.cluster.connect import connect
with connect(cores=1):
    for process in psutil.Process().children(recursive=True):
        if process.name() == "gcs_server":
            process.kill()
    time.sleep(300)
"""


@pytest.mark.ray
def test_a_lost_cluster_does_not_end_the_program_without_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "2")
    ended = subprocess.run([sys.executable, "-c", _LOSES_RAY], check=False, capture_output=True, text=True, timeout=120)
    assert ended.returncode
    assert "error: the program has ended before its work was done" in ended.stderr


def test_a_pipeline_on_a_cluster_without_cpus_waits_until_nodes_have_started() -> None:
    """`test_empty_cluster.py` runs verbs on one."""
    with_cpus, empty = no_progress_seconds({"CPU": 4, "memory": 1e9}), no_progress_seconds({"memory": 1e9})
    assert with_cpus <= 120
    assert empty >= with_cpus + 600, "the start of a node takes minutes"
    assert no_progress_seconds({"CPU": 0}) == empty


def test_cores_are_those_that_this_process_may_use() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert num_cores() == 1
    finally:
        os.sched_setaffinity(0, before)


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response_only(200)
        self.end_headers()


@pytest.fixture
def web_server() -> Iterator[str]:
    """The address of one that is no head of a Ray, as its dashboard is none."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def refusal(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What joining `address` ends with; Ray itself would try for many minutes."""
    monkeypatch.setenv("RAY_ADDRESS", address)
    began = time.monotonic()
    with pytest.raises(ClusterError, match="unset RAY_ADDRESS to use this machine") as caught, connect():
        pass
    assert time.monotonic() - began < 60
    assert not ray.is_initialized()
    return str(caught.value)


@pytest.mark.parametrize(
    "address", ["127.0.0.1:9", "[::1]:9", "localhost:9", "none.invalid:6379", "none", "http://127.0.0.1:8265"]
)
def test_a_cluster_that_is_not_there_is_named_at_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"no Ray answers at {address} (RAY_ADDRESS): " in refusal(address, monkeypatch)


def test_a_dashboards_address_is_refused(web_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.search(
        rf"at {web_server} .*a web server answers.*HOST:PORT of its head", refusal(web_server, monkeypatch)
    )
