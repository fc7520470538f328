"""Compiled layers, and layers that are computed again, give the losses and gradients of plain ones."""

from pathlib import Path
from typing import Any, cast

import pytest
import torch

from layoutray import checkpoint, devices, registry
from layoutray.batching.padding import pack
from layoutray.errors import InputError, RecipeError
from layoutray.nn.dropout import use_fast_dropout
from layoutray.recipe import recipes
from layoutray.tasks import TaskModel
from layoutray.tensors import Batch
from layoutray.training.job import Job
from layoutray.training.layers import checkpoint_activations, compile_layers
from tests.batching.test_packing import VOCABULARY, batch_of_windows
from tests.jobs import job, pages, recipe
from tests.training.runs import alone, in_processes

LAMBERT = {"arch": "lambert", "hidden": 32, "layers": 2, "heads": 2, "feed_forward": 64}
MODELS = {"skimformer": {}, "lambert": LAMBERT}
ARCHITECTURES = registry.names("layoutray.architectures", "ARCHITECTURE")


def of(arch: str, task: str, **train: Any) -> recipes.Recipe:
    values = recipe(task, **train).to_dict()
    return recipes.from_dict(values | {"model": MODELS[arch] or values["model"]})


def tiny(arch: str, *, fast: bool = False) -> TaskModel:
    """A model of the smallest size with dropout, before its first step."""
    chosen = {"task": {"name": "masked_lm"}, "train": {"steps": 1}, "model": {"arch": arch, "size": "tiny"}}
    made = checkpoint.build_model(recipes.from_dict({"name": arch, **chosen}), VOCABULARY, ()).train()
    if fast:
        use_fast_dropout(made)
    return made


def loss_and_gradients(model: TaskModel, batch: Batch) -> list[torch.Tensor]:
    torch.manual_seed(1)
    loss = model(batch)
    loss.backward()
    return [loss.detach(), *(part.grad for part in model.parameters() if part.grad is not None)]


@pytest.mark.parametrize("fast", [False, True], ids=["torch", "fast"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_checkpointed_activations_change_neither_loss_nor_gradient(arch: str, fast: bool) -> None:
    plain, again, batch = tiny(arch, fast=fast), tiny(arch, fast=fast), batch_of_windows()
    checkpoint_activations(again)
    assert list(again.state_dict()) == list(plain.state_dict())
    for one in (batch, pack(batch)):
        for expected, got in zip(loss_and_gradients(plain, one), loss_and_gradients(again, one), strict=True):
            torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def test_a_checkpointed_layer_is_computed_twice_in_training_and_once_in_evaluation() -> None:
    model, calls = tiny("skimformer"), list[bool]()
    checkpoint_activations(model)
    first = cast(Any, model.encoder).layers[0]
    first.feed_forward.register_forward_pre_hook(lambda *_: calls.append(model.training))
    loss_and_gradients(model, batch_of_windows())
    assert calls == [True, True]
    with torch.no_grad():
        model.eval()(batch_of_windows())
    assert calls == [True, True, False]


@pytest.mark.slow
def test_several_processes_train_with_checkpointed_activations(tmp_path: Path) -> None:
    plain = job(tmp_path, recipe("masked_lm", steps=6, micro_batch_size=2))
    again = recipe("masked_lm", steps=6, micro_batch_size=2, activation_checkpointing=True)
    expected = alone(plain)
    got = in_processes(Job(recipe=again, examples=plain.examples, out=tmp_path / "again"), 2)
    for name in ("loss", "dev.loss"):
        assert got[name] == [(step, pytest.approx(value, abs=1e-5)) for step, value in expected[name]], name


# In a process without run-time checks of shapes, which the compiler cannot trace. It also compiles the evaluation.
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("arch", "dev", "keys"),
    [
        ("lambert", 0, {}),
        ("skimformer", 6, {}),
        ("lambert", 6, {"activation_checkpointing": True}),
    ],
)
def test_compiled_layers_give_the_losses_of_plain_ones(
    arch: str, dev: int, keys: dict[str, bool], tmp_path: Path
) -> None:
    settings = {"steps": 4, "dropout": "fast", "micro_batch_size": 2}
    plain = job(tmp_path, of(arch, "masked_lm", **settings), pages(24, dev))
    compiled = of(arch, "masked_lm", **settings, compile=True, **keys)
    expected = alone(plain)
    got = in_processes(Job(recipe=compiled, examples=plain.examples, out=tmp_path / "compiled"), 1, seconds=800)
    for name in ("loss", "dev.loss"):
        assert got.get(name, []) == [
            (step, pytest.approx(value, abs=1e-5)) for step, value in expected.get(name, [])
        ], name
    assert checkpoint.load(tmp_path / "compiled").metrics["step"] == 4, "the weights have their usual names"


def test_without_a_compiler_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(InputError, match=r"train\.compile is true, which needs a C\+\+ compiler, and 'g\+\+' was not"):
        compile_layers(tiny("skimformer"), devices.CPU)


def test_packed_windows_are_not_compiled() -> None:
    with pytest.raises(RecipeError, match=r"train\.compile is true and train\.windows is 'packed'"):
        recipe("masked_lm", compile=True, windows="packed")
