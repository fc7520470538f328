"""Checkpoints: exact, complete, and never able to run code."""

import contextlib
import dataclasses
import hashlib
import json
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pyarrow.fs as pafs
import pytest
import safetensors.torch
import torch
from safetensors.torch import load_file, save_file

from layoutray import checkpoint
from layoutray.batching.collate import collate
from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.recipe.recipes import Recipe
from layoutray.store import sources
from layoutray.tasks import TaskModel
from tests.batching.test_collate import example
from tests.jobs import recipe, vocabulary
from tests.store.test_sources import server  # noqa: F401  (a fixture)

VOCABULARY = vocabulary()
LABELS = ("O", "B-date", "I-date")


def fresh(chosen: Recipe) -> TaskModel:
    return checkpoint.build_model(chosen, VOCABULARY, LABELS)


def saved(folder: Path, task: str = "entities", **changes: Any) -> Path:
    chosen = recipe(task, **changes)
    model = fresh(chosen)
    with torch.no_grad():  # not what the seed alone would give
        for parameter in model.parameters():
            parameter.add_(0.01)
    checkpoint.save(
        folder,
        Checkpoint(
            recipe=chosen,
            labels=LABELS,
            tokenizer=VOCABULARY,
            model=model,
            metrics={"step": 3.0},
            provenance={"init": ""},
        ),
    )
    return folder


def outputs(model: TaskModel) -> torch.Tensor:
    with torch.no_grad():
        return model.eval().scores(collate([example(6), example(9)], 0))[1]


def weights_digest(model: TaskModel) -> str:
    return hashlib.sha256(safetensors.torch.save(checkpoint.unique_tensors(model))).hexdigest()


def rewrite(folder: Path, name: str, content: Any) -> None:
    (folder / name).write_text(json.dumps(content))


@pytest.mark.parametrize("task", ["entities", "masked_lm"])
def test_save_and_load_is_exact(task: str, tmp_path: Path) -> None:
    chosen = recipe(task)
    model = fresh(chosen)
    with torch.no_grad():
        model.encoder.word_embedding.weight.mul_(1.5)
    checkpoint.save(
        tmp_path,
        Checkpoint(
            recipe=chosen,
            labels=LABELS,
            tokenizer=VOCABULARY,
            model=model,
            metrics={"f1": 0.5},
            provenance={"a": ["b"]},
        ),
    )
    loaded = checkpoint.load(tmp_path)
    assert torch.equal(outputs(loaded.model), outputs(model))
    assert not torch.equal(outputs(fresh(chosen)), outputs(model))
    assert (loaded.recipe, loaded.labels, loaded.metrics, loaded.provenance) == (
        chosen,
        LABELS,
        {"f1": 0.5},
        {"a": ["b"]},
    )
    assert loaded.tokenizer.inner.get_vocab() == VOCABULARY.inner.get_vocab()
    assert not loaded.model.training


def test_the_seed_alone_decides_fresh_weights() -> None:
    torch.manual_seed(1)
    one = fresh(recipe("entities"))
    state = torch.get_rng_state()
    torch.manual_seed(2)
    other = fresh(recipe("entities"))
    assert torch.equal(outputs(one), outputs(other))
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), state), (
        "and the caller's random numbers go on as if nothing had been built"
    )


def test_the_version_changes_with_the_weights(tmp_path: Path) -> None:
    versions = {checkpoint.load(saved(tmp_path / str(layers), model={"layers": layers})).version for layers in (1, 2)}
    assert len(versions) == 2
    assert checkpoint.load(tmp_path / "1").version in versions


def test_the_version_changes_with_the_settings_of_answers_alone(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    first = checkpoint.load(folder).version
    values = json.loads((folder / "recipe.json").read_text())
    values["name"], values["train"]["steps"] = "renamed", values["train"]["steps"] + 1
    rewrite(folder, "recipe.json", values)
    assert checkpoint.load(folder).version == first, "neither changes an answer"
    versions = [first]
    for least in (0.25, 0.5):
        values["task"]["fields"] = {"party": {"type": "name", "many": True, "min_score": least}}
        rewrite(folder, "recipe.json", values)
        versions.append(checkpoint.load(folder).version)
    rewrite(folder, "calibration.json", {"temperature": 2.0})
    versions.append(checkpoint.load(folder).version)
    assert len(set(versions)) == 4


def test_tied_weights_are_stored_once_and_tied_again(tmp_path: Path) -> None:
    stored = load_file(saved(tmp_path, "masked_lm") / "model.safetensors")
    assert "encoder.word_embedding.weight" in stored
    assert "head.decoder.weight" not in stored
    model: Any = checkpoint.load(tmp_path).model
    assert model.head.decoder.weight is model.encoder.word_embedding.weight


@pytest.mark.parametrize("name", checkpoint.REQUIRED)
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    (saved(tmp_path) / name).unlink()
    with pytest.raises(CheckpointError, match=rf"is not a checkpoint: {name} missing"):
        checkpoint.load(tmp_path)


def test_the_temperature_is_kept_and_is_1_in_older_folders(tmp_path: Path) -> None:
    chosen = recipe("entities")
    checkpoint.save(
        tmp_path,
        Checkpoint(
            recipe=chosen,
            labels=LABELS,
            tokenizer=VOCABULARY,
            model=fresh(chosen),
            metrics={},
            provenance={},
            temperature=1.75,
        ),
    )
    assert checkpoint.load(tmp_path).temperature == 1.75
    (tmp_path / "calibration.json").unlink()
    assert checkpoint.load(tmp_path).temperature == 1


@pytest.mark.parametrize(
    "content", [{}, [2.0], {"temperature": 0}, {"temperature": "2"}, {"temperature": float("nan")}]
)
def test_a_temperature_that_is_none_is_refused(content: Any, tmp_path: Path) -> None:
    rewrite(saved(tmp_path), "calibration.json", content)
    with pytest.raises(
        CheckpointError,
        match=r"calibration\.json contains .*; it must be an object with a temperature, a number above 0",
    ):
        checkpoint.load(tmp_path)


def test_weights_of_another_model_are_named(tmp_path: Path) -> None:
    rewrite(saved(tmp_path), "labels.json", ["O"])
    with pytest.raises(CheckpointError, match=r"head\.classifier\.weight is \(3, 32\), the model needs \(1, 32\)"):
        checkpoint.load(tmp_path)


def test_missing_and_foreign_tensors_are_named(tmp_path: Path) -> None:
    file = saved(tmp_path) / "model.safetensors"
    weights = load_file(file)
    weights["foreign"] = weights.pop("head.classifier.bias")
    save_file(weights, file)
    with pytest.raises(CheckpointError, match=r"missing head\.classifier\.bias; unexpected foreign"):
        checkpoint.load(tmp_path)


def test_weights_in_eight_bits_take_a_quarter_and_differ_by_half_a_step_of_their_row(tmp_path: Path) -> None:
    folder = saved(tmp_path / "float")
    loaded = checkpoint.load(folder)
    with torch.no_grad():
        loaded.model.encoder.word_embedding.weight[0] = 0.0
    checkpoint.save(tmp_path / "eight", loaded, eight_bits=True)
    sizes = [(one / "model.safetensors").stat().st_size for one in (folder, tmp_path / "eight")]
    assert sizes[1] < 0.4 * sizes[0], "rows of this small model have few weights for a scale"
    opened = checkpoint.load(tmp_path / "eight").model.state_dict()
    for name, tensor in loaded.model.state_dict().items():
        step = tensor.abs().amax(1, keepdim=True) / 127 if tensor.ndim == 2 else torch.zeros(())
        assert ((opened[name] - tensor).abs() <= 0.51 * step).all(), name


def test_integers_without_their_scales_are_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    checkpoint.save(folder, checkpoint.load(folder), eight_bits=True)
    weights = load_file(folder / "model.safetensors")
    del weights["head.classifier.weight.scale"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"head\.classifier\.weight as 8-bit integers without their scales"):
        checkpoint.load(folder)


class _Opens:
    """Unpickling it writes a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.file),)


def test_a_pickle_in_place_of_the_weights_is_refused_and_not_run(tmp_path: Path) -> None:
    folder, harm = saved(tmp_path / "checkpoint"), tmp_path / "harm"
    (folder / "model.safetensors").write_bytes(pickle.dumps(_Opens(harm)))
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        checkpoint.load(folder)
    torch.save({"weight": _Opens(harm)}, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        checkpoint.load(folder)
    assert not harm.exists()


def test_broken_json_and_a_foreign_recipe_are_refused(tmp_path: Path) -> None:
    (saved(tmp_path) / "metrics.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"metrics\.json is not valid JSON"):
        checkpoint.load(tmp_path)
    rewrite(tmp_path, "metrics.json", {})
    rewrite(tmp_path, "recipe.json", [3])
    with pytest.raises(CheckpointError, match=r"recipe\.json must contain a JSON object, not \[3\]"):
        checkpoint.load(tmp_path)
    rewrite(tmp_path, "recipe.json", {"name": "x"})
    with pytest.raises(
        CheckpointError, match=r"recipe\.json is not a recipe that this version can read: recipe key task is missing"
    ):
        checkpoint.load(tmp_path)


@pytest.mark.usefixtures("server")
def test_a_checkpoint_in_a_bucket_is_the_same_and_its_faults_are_named_by_its_address(tmp_path: Path) -> None:
    pafs.copy_files(str(saved(tmp_path)), "s3://scans/model")
    here, there = checkpoint.load(tmp_path), checkpoint.load("s3://scans/model")
    assert (there.version, there.labels, there.metrics, there.recipe) == (
        here.version,
        here.labels,
        here.metrics,
        here.recipe,
    )
    assert torch.equal(outputs(there.model), outputs(here.model))
    bucket = boto3.resource("s3").Bucket("scans")
    bucket.put_object(Key="model/labels.json", Body=b"{")
    with pytest.raises(CheckpointError, match=r"^s3://scans/model/labels\.json is not valid JSON"):
        checkpoint.load("s3://scans/model")
    bucket.Object("model/labels.json").delete()
    with pytest.raises(CheckpointError, match=r"^s3://scans/model is not a checkpoint: labels\.json missing"):
        checkpoint.load("s3://scans/model")


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("place", ["disk", "s3"])
@pytest.mark.slow
def test_who_reads_while_training_writes_finds_a_whole_checkpoint_or_none(place: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "better") if place == "disk" else "s3://scans/better"
    chosen = recipe("entities")
    models = [fresh(dataclasses.replace(chosen, seed=seed)) for seed in (1, 2)]
    of_weights = {weights_digest(model): model for model in models}
    over = threading.Event()

    def write() -> None:
        step = 0
        while not over.is_set():
            model = models[step % 2]
            checkpoint.save(
                folder,
                Checkpoint(
                    recipe=chosen,
                    labels=LABELS,
                    tokenizer=VOCABULARY,
                    model=model,
                    metrics={"step": float(step)},
                    provenance={},
                    temperature=step + 1.0,
                ),
            )
            step += 1
            over.wait(0.3)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        seen: list[Checkpoint] = []
        until = time.monotonic() + 240
        while len({found.temperature for found in seen}) < 5 and time.monotonic() < until and not writing.done():
            with contextlib.suppress(CheckpointError):
                seen.append(checkpoint.load(folder))
        over.set()
        writing.result()
    assert len({found.temperature for found in seen}) == 5
    for found in seen:
        assert found.temperature == found.metrics["step"] + 1
        assert of_weights[weights_digest(found.model)] is models[int(found.metrics["step"]) % 2], (
            "the weights are those of these metrics"
        )
    assert not [uri for uri in sources.list_files(folder) if ".part" in uri]
