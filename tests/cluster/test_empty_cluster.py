"""Jobs that are submitted to a Ray without CPUs wait for a node, which joins later, and then use it.

Daily, `test_connect.py` checks how long a pipeline waits for its CPUs on such a Ray.
"""

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from layoutray.training import job as jobs
from tests.cluster.test_ingest import fill
from tests.cluster.two_nodes import empty_cluster
from tests.jobs import encode, pages, recipe, recipe_file
from tests.mlflow_store import new_store

pytestmark = [pytest.mark.ray, pytest.mark.slow]

_SHORT_LIMITS = """
import sys
from layoutray.cli.main import main
from layoutray.cluster import connect, ingest
connect._NO_PROGRESS_SECONDS = 2.0
ingest.ATTEMPTS = 0  # the limit has no further allowance for slow pages
sys.exit(main(sys.argv[1:]))
"""
"""Runs a verb in which Ray Data fails after two seconds without progress, but for the time in which nodes start."""


def finish_after(wait: float, *verbs: list[str]) -> None:
    """Run the verbs at once on a Ray whose first node with CPUs joins after `wait` seconds."""
    with empty_cluster() as (environment, add_node), ExitStack() as running:
        drivers: list[subprocess.Popen[str]] = []
        for words in verbs:
            command = [sys.executable, "-c", _SHORT_LIMITS, *words]
            driver = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            running.enter_context(driver)
            running.callback(driver.kill)
            drivers.append(driver)
        time.sleep(wait)
        for driver in drivers:
            assert driver.poll() is None, driver.communicate()[1][-4000:]
        add_node()
        for driver in drivers:
            messages = driver.communicate(timeout=300)[1]
            assert driver.returncode == 0, messages[-4000:]


@pytest.mark.ocr
def test_an_ingest_waits_for_the_first_node(tmp_path: Path) -> None:
    fill(tmp_path / "scans", 4)
    finish_after(20, ["ingest", "ingest-folder", f"{tmp_path}/scans", f"{tmp_path}/out", "--workers", "2"])
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["pages_out"] == 4


def test_a_training_and_a_sweep_wait_for_the_first_node(tmp_path: Path) -> None:
    """The wait is longer than the minute after which Ray Train first gives up a start of its workers."""
    chosen = recipe("masked_lm", steps=2, evaluate_every=2)
    start = [recipe_file(tmp_path, chosen), encode(tmp_path, chosen, pages(24, 6)), "--tracking-uri"]
    start.append(new_store(tmp_path))
    finish_after(
        75,
        ["pretrain", *start, "--out", f"{tmp_path}/model", "--workers", "2"],
        ["sweep", *start, "--out", f"{tmp_path}/sweep", "--over", "seed=1,2"],
    )
    assert (tmp_path / "model" / jobs.FINISHED).exists()
    assert json.loads((tmp_path / "sweep" / "best.json").read_text())["value"] in (1, 2)
