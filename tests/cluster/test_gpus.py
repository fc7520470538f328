"""GPUs that Ray assigns, on a Ray that declares two. Whether the machine has any does not matter."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import ray
import ray.train
import torch
from ray.train import ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.cluster import gpus
from layoutray.cluster.connect import connect
from layoutray.cluster.placement import Replicas
from layoutray.cluster.predict import predict
from layoutray.cluster.trials import Share, run_each
from tests import documents
from tests.cluster.checkpoints import save_untrained
from tests.jobs import pages, vocabulary, write_pages

pytestmark = [pytest.mark.ray, pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def two_gpus(shared_ray: object) -> Iterator[None]:
    del shared_ray  # it has stopped the Ray of other tests
    ray.init(num_cpus=4, num_gpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with connect():
            yield
    finally:
        ray.shutdown()


@ray.remote
class Asked:
    """An actor that says which GPU is its own."""

    def index(self) -> int | None:
        return gpus.assigned_index()

    def device(self) -> str:
        return str(gpus.assigned_device())


def test_an_actor_uses_a_gpu_only_if_it_requested_one() -> None:
    requests = [0, 1, 0.5, 0.5]
    actors = [Asked.options(num_cpus=0, num_gpus=request).remote() for request in requests]
    assert ray.get([actor.index.remote() for actor in actors]) == [None, 0, 0, 0]
    assert ray.get(actors[0].device.remote()) == "cpu"
    assert ray.get(actors[1].device.remote()) == ("cuda:0" if torch.cuda.is_available() else "cpu")
    for actor in actors:
        ray.kill(actor)


def note_index(config: Mapping[str, str]) -> None:
    rank = ray.train.get_context().get_world_rank()
    Path(config["folder"], f"{rank}").write_text(f"{gpus.assigned_index()} of {os.environ.get('CUDA_VISIBLE_DEVICES')}")


@pytest.mark.parametrize(
    ("use_gpu", "indices"),
    [(True, {"0 of 0,1", "1 of 0,1"}), (False, {"None of None"})],
)
def test_each_worker_of_a_training_has_its_own_gpu_or_none(use_gpu: bool, indices: set[str], tmp_path: Path) -> None:
    TorchTrainer(
        note_index,
        train_loop_config={"folder": str(tmp_path)},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=2, use_gpu=use_gpu, resources_per_worker={"CPU": 0.5}),
        run_config=ray.train.RunConfig(storage_path=str(tmp_path / "ray")),
    ).fit()
    assert {(tmp_path / f"{rank}").read_text() for rank in (0, 1)} == indices


@pytest.mark.parametrize(
    ("processes", "requested", "expected"),
    [(1, None, 1), (2, None, 1), (3, None, 0), (2, 0, 0), (3, 1, 1), (2, 0.5, 0.5)],
)
def test_a_process_gets_a_gpu_if_there_is_one_for_each(
    processes: int, requested: float | None, expected: float
) -> None:
    assert gpus.of_each(processes, requested) == expected


def test_too_few_gpus_are_named(caplog: pytest.LogCaptureFixture) -> None:
    assert gpus.of_each(3, None) == 0
    assert "2 GPUs for 3 processes, so these use CPUs; give --gpus 1" in caplog.text


def note_trial(file: str, device: torch.device) -> None:
    Path(file).write_text(f"{gpus.assigned_index()} {device.type}")


@pytest.mark.parametrize(("requested", "noted"), [(None, "0 "), (0, "None cpu")])
def test_a_trial_has_a_gpu_unless_none_is_requested(requested: int | None, noted: str, tmp_path: Path) -> None:
    file = tmp_path / "gpu"
    run_each([str(file)], note_trial, Share(gpus=requested), lambda _: None)
    assert file.read_text().startswith(noted)


def refuse() -> None:
    raise AssertionError("the driver uses CUDA")


@pytest.mark.parametrize("requested", [1, 0])
def test_pages_are_answered_with_and_without_a_gpu_and_the_driver_uses_none(
    requested: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 99)
    monkeypatch.setattr(torch.cuda, "_lazy_init", refuse)
    save_untrained(tmp_path / "checkpoint")
    ingested = write_pages(tmp_path / "ingested", pages(3))
    answered = predict(tmp_path / "checkpoint", ingested, str(tmp_path / "out"), replicas=Replicas(1, gpus=requested))
    assert answered.answered == 3


def test_texts_are_written_with_a_gpu_and_the_driver_uses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 99)
    monkeypatch.setattr(torch.cuda, "_lazy_init", refuse)
    chosen = documents.recipe(max_length=100)
    model = checkpoint.build_model(chosen, vocabulary(), ())
    checkpoint.save(
        tmp_path / "checkpoint",
        Checkpoint(recipe=chosen, labels=(), tokenizer=vocabulary(), model=model, metrics={}, provenance={}),
    )
    wholes = [documents.pages(number) for number in range(3)]
    ingested = write_pages(tmp_path / "ingested", [page for whole in wholes for page in whole])
    documents.write_documents(tmp_path / "ingested", [documents.document(whole) for whole in wholes])
    written = predict(tmp_path / "checkpoint", ingested, str(tmp_path / "out"), replicas=Replicas(1, gpus=1))
    assert written.answered + written.failed == 3
