"""The trainings of labelled documents: that of all, and those that leave out some, which their models then answer."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from layoutray import config
from layoutray.cli.shared.trials import Trial
from layoutray.document import Document
from layoutray.errors import InputError
from layoutray.recipe import files, recipes
from layoutray.recipe.recipes import Recipe
from layoutray.recipe.schedule import (
    SHARE_OF_A_START,
    STEPS_OF_A_START,
    STEPS_OF_AN_ENCODER,
    STEPS_WITH_PARTIAL,
    Schedule,
    schedule,
)
from layoutray.store import sources
from layoutray.store.card import Card
from layoutray.tasks import ReadsNames, TagsWords
from layoutray.tracking.training import close_without_checkpoint
from layoutray.training.inputs import fold, training_documents
from layoutray.training.job import Job

RECIPE = "finetune-fields"
"""What all models of labelled documents have in common."""


@dataclass(frozen=True)
class Part:
    """A training without some documents, which its model then answers."""

    trial: Trial
    held_out: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class PlannedTrainings:
    """The trainings of a set of documents.

    Attributes:
        whole: of all documents.
        parts: of all documents but those of a fold.
        halves: of half of these documents; empty if there are too few.
    """

    schedule: Schedule
    whole: Trial
    parts: Sequence[Part]
    halves: Sequence[Part]

    @property
    def trials(self) -> list[Trial]:
        return [self.whole, *(part.trial for part in (*self.parts, *self.halves))]


def recipe_of(name: str, task: Mapping[str, Any], init: str, start: Recipe, assignments: Sequence[str] = ()) -> Recipe:
    """The recipe of models with the fields of `task` that start from checkpoint `init`, which has the recipe `start`.

    A start that is no plain text encoder also gives the model's settings.

    Args:
        assignments: `KEY=VALUE` assignments to recipe keys, the last ones strongest.
    """
    values = files.read(RECIPE)
    values["task"] |= task
    values["tokenizer"] = {"path": init}
    if start.arch != "hf":
        values |= {"model": start.model, "max_length": start.max_length}
    return recipes.from_dict(config.override(values, assignments) | {"name": name})


def schedule_for(examples: str, start: Recipe, folds: int) -> Schedule:
    """The schedule for encoded documents; arguments as `recipe_of` and `schedule`."""
    card = Card.read(examples)
    of_encoder = STEPS_WITH_PARTIAL if card.partial else STEPS_OF_AN_ENCODER
    fewest = STEPS_OF_A_START if isinstance(start.task, TagsWords) else of_encoder
    share = SHARE_OF_A_START if isinstance(start.task, ReadsNames) else 0.0
    return schedule(len(training_documents(examples)), card.examples["train"], fewest, share, folds)


def plan(whole: Job, scheduled: Schedule, out: str) -> PlannedTrainings:
    """All trainings; those of parts go below `out`. MLflow gets only the model that is made of them in the end."""
    ids = training_documents(whole.examples)

    def part(number: int, documents: int) -> Part:
        settings = {"folds": scheduled.folds, "fold": number, "documents": documents}
        recipe = replace(whole.recipe, train=replace(whole.recipe.train, **settings))
        name = f"{number}-of-{documents}" if documents else f"{number}"
        varied = tuple(f"train.{key}={settings[key]}" for key in ("fold", "documents") if settings[key])
        trial = Trial(replace(whole, recipe=recipe, out=sources.join(out, name)), varied, close_without_checkpoint)
        return Part(trial, fold(ids, number, scheduled.folds))

    numbers = range(1, scheduled.measured + 1)
    return PlannedTrainings(
        schedule=scheduled,
        whole=Trial(whole, ("train.fold=0",), close_without_checkpoint),
        parts=[part(number, 0) for number in numbers],
        halves=[part(number, scheduled.half) for number in numbers] if scheduled.half else [],
    )


def check_measured(held_out: Iterable[Collection[str]], documents: Iterable[Document]) -> None:
    """Raise InputError if models would be measured only on documents that are known in part.

    Args:
        held_out: ids of the documents that each measured model is not trained on.
    """
    measured = {doc_id for part in held_out for doc_id in part}
    if not any(one.doc_id in measured and not one.partial for one in documents):
        raise InputError(
            f"of the {len(measured)} documents that measure the model, only some values are known, so that a wrong "
            "answer cannot be told; finish some documents on the review page, or give a folder of labelled ones, too"
        )
