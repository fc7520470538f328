"""The MLflow run of `pretrain` and `finetune`: none if the training cannot start, FAILED if it fails."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from layoutray import checkpoint
from layoutray.cli.shared import tracked_training
from layoutray.cli.train import finetune, pretrain
from layoutray.errors import InputError
from layoutray.tracking import runs
from layoutray.training import world as worlds
from layoutray.training.job import FINISHED
from layoutray.training.world import World
from tests.jobs import encode, pages, recipe, recipe_file
from tests.mlflow_store import new_store


@pytest.fixture
def store(tmp_path: Path) -> str:
    return new_store(tmp_path)


@pytest.fixture
def call(tmp_path: Path, store: str) -> list[str]:
    """The arguments of a short pretraining from scratch."""
    chosen = recipe("masked_lm", steps=2)
    examples = encode(tmp_path, chosen, pages(12, 2))
    return [recipe_file(tmp_path, chosen), examples, "--out", str(tmp_path / "out"), "--tracking-uri", store]


def runs_in(store: str) -> list[Run]:
    client = MlflowClient(tracking_uri=store)
    return list(client.search_runs([known.experiment_id for known in client.search_experiments()]))


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_training_from_scratch_that_does_not_fit_opens_no_run(workers: str, call: list[str], tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").unlink()
    with pytest.raises(InputError, match="was encoded for task masked_lm, the recipe trains entities"):
        finetune([*call, "--set", "task.name=entities", "--workers", workers])
    assert not (tmp_path / "mlflow.db").exists()
    assert not (tmp_path / "out").exists()


def broken(*_: Any) -> None:
    raise RuntimeError("the machine is on fire")


@pytest.mark.parametrize("world_size", [None, "1"])
def test_the_run_of_a_training_that_fails_is_marked_with_and_without_torchrun(
    world_size: str | None, call: list[str], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if world_size:
        monkeypatch.setenv("WORLD_SIZE", world_size)
    monkeypatch.setattr(tracked_training, "train_in_place", broken)
    with pytest.raises(RuntimeError, match="on fire"):
        pretrain(call)
    (run,) = runs_in(store)
    assert run.info.status == "FAILED"


@pytest.mark.parametrize(("rank", "versions"), [(0, 1), (1, 0)])
def test_only_rank_0_registers_a_finished_training(
    rank: int, versions: int, call: list[str], store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def second_of_two(gpus: int) -> Generator[World]:
        yield World(rank, 2, torch.device("cpu"))

    assert pretrain(call) == 0
    monkeypatch.setattr(worlds, "from_environment", second_of_two)
    assert pretrain([*call, "--register", "late"]) == 0
    assert len(MlflowClient(tracking_uri=store).search_model_versions("name='late'")) == versions


def test_an_interrupted_training_from_a_registered_model_resumes(
    call: list[str], store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAYOUTRAY_CACHE", str(tmp_path / "cache"))
    assert pretrain([*call, "--register", "start"]) == 0
    started = [*call, "--out", str(tmp_path / "second"), "--init", "models:/start@champion"]
    with monkeypatch.context() as patch:
        patch.setattr(tracked_training, "close_run", broken)
        with pytest.raises(RuntimeError, match="on fire"):
            pretrain(started)
    (tmp_path / "second" / FINISHED).unlink()
    assert pretrain(started) == 0
    (parent,) = checkpoint.load(tmp_path / "second").provenance["init"]
    assert parent == "models:/start/1", "the version, not the alias, nor a folder of one machine"
    run = runs.noted(tmp_path / "second", store)
    assert run is not None
    assert run.finished
