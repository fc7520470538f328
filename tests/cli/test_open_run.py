"""A training that is killed while it opens its run leaves no empty run behind."""

import os
import signal
from pathlib import Path

import pytest
from mlflow.entities import ViewType
from mlflow.tracking import MlflowClient

from layoutray.cli.train import pretrain
from layoutray.tracking import runs
from tests import fork_server
from tests.jobs import encode, pages, recipe, recipe_file
from tests.mlflow_store import new_store


def killed(moment: str, call: list[str]) -> None:
    """Die where the run is there and its id is not yet noted."""
    setattr(runs.Run, moment, lambda *given: os.kill(os.getpid(), signal.SIGKILL))
    pretrain(call)


@pytest.mark.slow
def test_who_is_killed_before_the_note_has_one_run_afterwards(tmp_path: Path) -> None:
    chosen = recipe("masked_lm", steps=2)
    store, out = new_store(tmp_path), tmp_path / "checkpoint"
    examples = encode(tmp_path, chosen, pages(12, 2))
    call = [recipe_file(tmp_path, chosen), examples, "--out", str(out), "--tracking-uri", store]
    for moment in ("log_data", "note"):
        assert fork_server.exit_code(fork_server.start(killed, moment, call)) == -signal.SIGKILL
    client = MlflowClient(tracking_uri=store)
    (experiment,) = [known.experiment_id for known in client.search_experiments(filter_string="name = 'ingested'")]
    (empty,) = client.search_runs([experiment])
    assert runs.noted(out, store) is None
    assert pretrain(call) == 0
    (run,) = client.search_runs([experiment])
    assert run.info.status == "FINISHED"
    assert run.data.metrics["train/loss"] > 0
    assert "layoutray.claim" not in run.data.tags, "the tags of a run are for people"
    assert runs.noted(out, store) == runs.Run(store, run.info.run_id)
    deleted = {one.info.run_id for one in client.search_runs([experiment], run_view_type=ViewType.DELETED_ONLY)}
    assert len(deleted) == 2
    assert empty.info.run_id in deleted
