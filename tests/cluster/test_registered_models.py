"""A registered model on a real Ray of two nodes, each with its own disk for copies.

The tracking server is a real one, which hands out artifacts over HTTP.

Daily, `test_tracking.py` fetches a registered model from a server into the cache of one machine, and
`cli/test_train.py` checks that a training keeps the version and not the alias.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutray import checkpoint
from layoutray.store.data_set import DataSet
from layoutray.tracking import runs
from layoutray.training.job import JOB
from tests.cluster.two_nodes import TwoNodes, two_nodes
from tests.jobs import job, recipe, recipe_file
from tests.mlflow_server import server as tracking_server  # noqa: F401  (a fixture)
from tests.training.runs import alone

pytestmark = [pytest.mark.ray, pytest.mark.slow]


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    with two_nodes({"OMP_NUM_THREADS": "1"}) as started:
        yield started


def call(nodes: TwoNodes, *words: str, cache: Path) -> str:
    """Run a verb on the nodes; the driver has a third disk."""
    command = [sys.executable, "-m", "layoutray.cli", *words]
    environment = nodes.environment | {"LAYOUTRAY_CACHE": str(cache)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_every_node_fetches_the_version_that_the_driver_has_resolved(
    nodes: TwoNodes,
    tracking_server: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    one = job(tmp_path, recipe("entities", steps=2))
    alone(one)
    registered = runs.create_run(tracking_server, "tests", "forms", {}, {})
    registered.log_checkpoint(one.out)
    registered.register("forms")
    examples, out = one.examples, str(tmp_path / "tuned")
    words = ["finetune", recipe_file(tmp_path, one.recipe), examples, "--init", "models:/forms@champion", "--out", out]
    call(nodes, *words, "--workers", "2", "--tracking-uri", tracking_server, cache=tmp_path / "driver")
    assert json.loads((tmp_path / "tuned" / JOB).read_text())["init"] == ["models:/forms/1"]
    assert checkpoint.load(out).provenance["init"] == ["models:/forms/1"]
    disks = [Path(nodes.environment["RAY_TMPDIR"], f"cache-{name}") for name in ("first", "second")]
    names = [[path.name for path in (disk / "models").iterdir()] for disk in (*disks, tmp_path / "driver")]
    assert len(names[0]) == 1
    assert names[0] == names[1] == names[2], "one copy on each disk, of the same version"
    for disk in disks:
        shutil.rmtree(disk)
    ingested, answers = str(tmp_path / "ingested"), str(tmp_path / "answers")
    Path(DataSet(ingested).manifest).write_text("{}")  # as after an ingest
    shown = call(
        nodes,
        *(
            "predict",
            "models:/forms@champion",
            ingested,
            "--out",
            answers,
            "--workers",
            "2",
            "--tracking-uri",
            tracking_server,
        ),
        cache=tmp_path / "driver",
    )
    assert json.loads(shown)["answered"] == 30
    assert names[0] in [[path.name for path in disk.glob("models/*")] for disk in disks], "a replica has fetched it"
