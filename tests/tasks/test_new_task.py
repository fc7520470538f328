"""A new task is one file: it is found by its name, has its own recipe keys, and is trained like every other task."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from layoutray import checkpoint, config, tasks
from layoutray.errors import RecipeError
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.tasks import AnswersFields, HasDecoder, TagsWords, Task, WritesTexts
from layoutray.tasks.entities import Entities
from layoutray.tasks.entities_bioes import EntitiesBioes
from layoutray.tasks.layout_labels import LayoutLabels
from layoutray.tasks.summary import Summary
from layoutray.training import job as jobs
from layoutray.training import loop, world
from layoutray.training.feed import recipe_feed
from layoutray.training.inputs import open_split
from tests.jobs import job, recipe
from tests.training.runs import alone

TAGGING: list[TagsWords] = [Entities(), EntitiesBioes(), LayoutLabels()]
WRITING: list[WritesTexts] = [Summary()]

NEW_TASK = '''
"""Say of each token whether it is in the upper part of its page."""

from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.nn import functional

from layoutray.errors import InputError, RecipeError
from layoutray.tasks.model import targets_of_states


class UpperPartHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.classifier = nn.Linear(width, 2)

    def forward(self, encoded):
        return self.classifier(encoded.states)

    def loss(self, encoded, batch):
        targets = targets_of_states(encoded, batch)
        return functional.cross_entropy(self(encoded).flatten(0, 1), targets.flatten(), reduction="sum")


@dataclass(frozen=True)
class UpperPart:
    name: str = "upper_part"
    border: int = 500

    objective = ("accuracy", "max")
    of_documents = False

    def __post_init__(self):
        if not 0 < self.border < 1000:
            raise InputError(f"task.border is {self.border}; it must be between 0 and 1000")

    def head(self, encoder, num_labels, dropout):
        return UpperPartHead(encoder.width)

    def corruption(self, tokenizer):
        def label(batch, generator):
            upper = (batch.boxes[..., 1] < self.border).long()
            return replace(batch, labels=upper.masked_fill(~batch.mask, -100))
        return label

    def observe(self, model, batch, examples):
        encoded, logits = model.scores(batch)
        targets = targets_of_states(encoded, batch)
        return [(int((logits.argmax(-1) == targets).sum()), int((targets != -100).sum()))]

    def summarise(self, observations, labels):
        right, total = (sum(column) for column in zip(*observations, strict=True))
        return {"accuracy": right / total, "tokens": float(total)}


TASK = UpperPart
'''


@pytest.fixture
def upper_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module `layoutray.tasks.upper_part`, in a folder that the package looks into."""
    folder = tmp_path / "plug_ins"
    folder.mkdir()
    (folder / "upper_part.py").write_text(NEW_TASK)
    monkeypatch.setattr(tasks, "__path__", [*tasks.__path__, str(folder)])
    importlib.invalidate_caches()
    yield importlib.import_module("layoutray.tasks.upper_part")
    del sys.modules["layoutray.tasks.upper_part"]
    del tasks.upper_part  # pyright: ignore[reportAttributeAccessIssue]


def changed(chosen: Recipe, *assignments: str) -> Recipe:
    return recipes.from_dict(config.override(chosen.to_dict(), assignments))


def test_it_is_trained_evaluated_and_loaded_by_its_name(upper_part: ModuleType, tmp_path: Path) -> None:
    chosen = changed(recipe("upper_part", steps=30, learning_rate=5e-3, evaluate_every=10), "task.border=300")
    assert chosen.task == upper_part.UpperPart(border=300)
    one = job(tmp_path, chosen)
    series = alone(one)
    losses = [loss for _, loss in series["loss"]]
    assert losses[-1] < 0.5 * losses[0]
    assert jobs.finished(one)
    loaded = checkpoint.load(one.out)
    assert (loaded.recipe, loaded.labels, loaded.temperature) == (chosen, (), 1.0)
    dev = recipe_feed(loaded.recipe, loaded.tokenizer, open_split(one.examples, "dev"))
    seen = loop.observe(loaded.model, loaded.recipe.task, dev, world.single_process())
    metrics = loaded.recipe.task.summarise(seen, loaded.labels)
    assert metrics["accuracy"] == pytest.approx(jobs.best_objective(one))
    assert metrics["accuracy"] > 0.8


def test_it_has_recipe_keys_and_capabilities_of_its_own(upper_part: ModuleType) -> None:
    task: Task = upper_part.UpperPart()
    assert isinstance(task, Task)
    assert not isinstance(task, TagsWords | HasDecoder | WritesTexts | AnswersFields)
    with pytest.raises(RecipeError, match=r"task\.bordr \(did you mean border\?\); known here: name, border"):
        changed(recipe("upper_part"), "task.bordr=3")
    with pytest.raises(RecipeError, match=r"task\.border is 0; it must be between 0 and 1000"):
        changed(recipe("upper_part"), "task.border=0")


def test_every_task_is_named_after_its_module() -> None:
    for name in ("masked_lm", "entities", "entities_bioes", "layout_labels", "neighbourhoods", "span_infilling"):
        task = tasks.load(name)()
        assert task.name == name
        assert isinstance(task, Task)
    for task in (*TAGGING, *WRITING):
        assert tasks.load(task.name)() == task
    assert all(isinstance(task, TagsWords) for task in TAGGING)
    assert all(isinstance(task, WritesTexts) for task in WRITING)
