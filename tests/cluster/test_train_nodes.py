"""Where the workers of a training stand, on a real Ray of two nodes.

`test_train.py` checks each day what they ask Ray for.
"""

import sys
from pathlib import Path

import pytest

from tests.cluster.two_nodes import two_nodes
from tests.jobs import encode, pages, recipe, recipe_file

_WATCHED = """
import sys
from layoutray.recipe import recipes
from layoutray.cluster.connect import connect
from layoutray.cluster.train import Workers, train
from layoutray.training.inputs import check
from layoutray.training.job import Job
from tests.training.runs import History
from ray.util import placement_group_table

class Watching(History):
    def start(self, step, steps):
        (workers,) = [group for group in placement_group_table().values() if group["state"] == "CREATED"]
        nodes = set(workers["bundles_to_node_id"].values())
        print(len(workers["bundles"]), "workers on", len(nodes), "nodes", flush=True)

file, examples, out = sys.argv[1:]
with connect():
    train(check(Job(recipe=recipes.load(file), examples=examples, out=out), 2), Workers(count=2), list, Watching())
"""


@pytest.mark.ray
@pytest.mark.slow
def test_workers_without_gpus_are_spread_over_the_nodes(tmp_path: Path) -> None:
    chosen = recipe("masked_lm", steps=2, evaluate_every=2)
    examples = encode(tmp_path, chosen, pages(24, 6))
    command = [sys.executable, "-c", _WATCHED, recipe_file(tmp_path, chosen), examples, str(tmp_path / "checkpoint")]
    with two_nodes({"OMP_NUM_THREADS": "1"}) as nodes:
        assert nodes.run_through(command, tmp_path / "log", [], lambda: 0) == 1
    assert "2 workers on 2 nodes" in (tmp_path / "log").read_text()
