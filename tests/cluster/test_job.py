"""A command as a job of a real Ray: Ray copies the folder, returns log and exit code, and refuses a wrong token."""

import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from layoutray.prepare.manifest import Manifest
from layoutray.store import shards
from layoutray.store.schema import PAGES
from tests.cluster.test_ingest import annotate
from tests.cluster.two_nodes import kill_tree
from tests.infra.manifests import REPOSITORY
from tests.infra.test_rayignore import MAX_BYTES, clone
from tests.readers.native import put_picture

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1200)]
_PATIENCE = 300.0
_OWN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
STRANGERS = [{"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}]

# Two Rays on one machine need two ports for what starts jobs; only the first has the one that Ray chooses by default.
# The dashboard answers, and refuses jobs, before that is there.
_CLUSTER = """
import socket, sys, time
from ray.cluster_utils import Cluster
from ray.job_submission import JobSubmissionClient
with socket.socket() as one, socket.socket() as other:
    one.bind(("", 0))
    other.bind(("", 0))
    ports = {"dashboard_port": one.getsockname()[1], "dashboard_agent_listen_port": other.getsockname()[1]}
spared = {"include_log_monitor": False, "no_monitor": True}
head = Cluster(initialize_head=True, head_node_args={"num_cpus": 4, "include_dashboard": True, **ports, **spared})
jobs = JobSubmissionClient(f"http://{head.webui_url}")
while True:
    try:
        jobs.submit_job(entrypoint="true")
        break
    except RuntimeError:
        time.sleep(0.5)
print(head.webui_url, head.address, flush=True)
sys.stdin.read()
head.shutdown()
"""


@dataclass(frozen=True)
class Head:
    """Attributes:
    dashboard: where jobs are handed in.
    address: where drivers join.
    folder: where it keeps what it unpacks.
    """

    dashboard: str
    address: str
    folder: Path

    def submit(self, folder: Path, *verb: str, token: Mapping[str, str] = _OWN) -> subprocess.CompletedProcess[str]:
        """Hand in `python -m VERB` with `folder`, and wait for its end."""
        command = [
            "ray",
            "job",
            "submit",
            "--address",
            f"http://{self.dashboard}",
            "--working-dir",
            str(folder),
            "--",
            "python",
            "-m",
            *verb,
        ]
        return run(command, environment(token), folder)


def environment(token: Mapping[str, str], **more: str) -> dict[str, str]:
    """An environment with the virtual environment on PATH, and without the tests' own Ray variables and PYTHONPATH."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_") and name != "PYTHONPATH"}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **token, **more}


def run(command: list[str], values: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=values, cwd=folder, capture_output=True, text=True, timeout=_PATIENCE, check=False
    )


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # not below a test's: the names of Ray's sockets have to be short
    for _ in range(5):  # Ray gives its agents a quarter of a minute to start, too little on a busy machine
        with started(folder) as addresses:
            if addresses:
                yield Head(*addresses, folder)
                break
    else:
        pytest.fail("the cluster did not start")
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def started(folder: Path) -> Generator[list[str]]:
    """A cluster in its own process, because Ray reads RAY_AUTH_MODE once.

    Yields the addresses of the dashboard and of the head, or an empty list when the cluster has not started.
    """
    command, values = [sys.executable, "-c", _CLUSTER], environment(_OWN, RAY_TMPDIR=str(folder))
    with subprocess.Popen(command, env=values, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()
            process.communicate(timeout=60)
        finally:
            kill_tree(process)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clone(tmp_path_factory.mktemp("clone"))


def test_a_verb_runs_as_a_job_from_the_folder_that_travelled(head: Head, checkout: Path, tmp_path: Path) -> None:
    forms, out = tmp_path / "in", tmp_path / "out"
    for number in range(3):
        put_picture(forms / f"training_data/images/{number}.png", width=200 + number)
        annotate(forms / f"training_data/annotations/{number}.json", "question", f"Name {number}:")
    ended = head.submit(checkout, "pipelines.ingest", "ingest-funsd", str(forms), str(out), "--set", "words=annotation")
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said
    assert "succeeded" in said
    manifest = Manifest.read(str(out))
    assert (manifest.documents_in, manifest.pages_in, manifest.pages_out, manifest.pages_dead) == (3, 3, 3, 0)
    assert len(set(shards.read(str(out / "pages"), PAGES, ["page_id"])["page_id"].to_pylist())) == 3
    (unpacked,) = head.folder.glob("ray/session_2*/runtime_resources/working_dir_files/_ray_pkg_*/")
    assert {"layoutray", "pipelines", "pyproject.toml"} <= {one.name for one in unpacked.iterdir()}
    apart = {"__pycache__", "checkpoint", "networks"}  # a job may train from the start, and reads by the networks
    assert sum(one.stat().st_size for one in unpacked.rglob("*") if not apart & {*one.parts}) < MAX_BYTES


@pytest.mark.slow
def test_a_verb_that_fails_fails_its_job_and_says_why(head: Head, checkout: Path, tmp_path: Path) -> None:
    ended = head.submit(checkout, "pipelines.ingest", "ingest-folder", str(tmp_path / "none"), str(tmp_path / "out"))
    assert ended.returncode == 1
    assert re.search(r"error: nothing to read below '.*none' \(it does not exist\)", ended.stdout), ended.stdout
    assert "failed with exit code 1" in ended.stdout


@pytest.mark.parametrize(
    ("token", "said"),
    [(STRANGERS[0], "Unauthorized"), pytest.param(STRANGERS[1], "Forbidden", marks=pytest.mark.slow)],
    ids=["none", "another"],
)
def test_a_job_without_the_token_is_refused(head: Head, checkout: Path, token: dict[str, str], said: str) -> None:
    ended = head.submit(checkout, "pipelines.ingest", "--help", token=token)
    assert ended.returncode != 0
    assert "usage: " not in ended.stdout
    assert said in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "token", [STRANGERS[0], pytest.param(STRANGERS[1], marks=pytest.mark.slow)], ids=["none", "another"]
)
def test_a_driver_without_the_token_is_told_what_to_do(head: Head, token: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "page.png").touch()
    verb = [sys.executable, "-m", "pipelines.ingest", "ingest-folder", str(tmp_path), str(tmp_path / "out")]
    one_try = {"RAY_gcs_server_port_wait_time_s": "1"}  # by default Ray takes 20 tries, one a second
    ended = run(verb, environment(token, RAY_ADDRESS=head.address, **one_try), REPOSITORY)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == (
        f"error: Ray at {head.address} (RAY_ADDRESS) requires a token, and this process has none or a wrong one; set "
        "RAY_AUTH_MODE=token, and put the token of the head node into ~/.ray/auth_token or RAY_AUTH_TOKEN"
    )
