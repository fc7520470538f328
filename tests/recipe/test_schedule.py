"""How long a model is trained and how it is measured, by the number of documents."""

import pytest

from layoutray.errors import InputError
from layoutray.recipe import recipes
from layoutray.recipe.schedule import SHARE_OF_A_START, STEPS_OF_A_START, STEPS_OF_AN_ENCODER, Schedule, schedule


@pytest.mark.parametrize(
    ("documents", "fewest", "steps"),
    [
        *((number, STEPS_OF_A_START, 40) for number in (3, 5, 10, 20, 50)),
        *((number, STEPS_OF_AN_ENCODER, 100) for number in (3, 10, 100)),
        *((595, fewest, 298) for fewest in (STEPS_OF_A_START, STEPS_OF_AN_ENCODER)),
        (2000, STEPS_OF_A_START, 1000),
    ],
)
def test_steps_are_those_that_were_measured(documents: int, fewest: int, steps: int) -> None:
    assert schedule(documents, documents, fewest).steps == steps


def test_documents_of_many_windows_are_trained_as_long_as_many_documents() -> None:
    assert schedule(10, 600, STEPS_OF_A_START).steps == 300


@pytest.mark.parametrize("documents", [3, 4, 11, 19, 20, 50, 51, 2000])
def test_every_schedule_is_a_recipe_and_measures_many_documents(documents: int) -> None:
    planned = schedule(documents, documents, STEPS_OF_A_START, SHARE_OF_A_START)
    recipe = recipes.load("finetune-fields", planned.assignments())
    assert (recipe.train.steps, recipe.train.batch_size) == (planned.steps, 8)
    assert recipe.train.word_masking == (0.0 if planned.steps == 40 else 0.1)
    assert recipe.train.start_share == (0.5 if planned.steps == 40 else 0.0)
    assert planned.measured * documents / planned.folds >= min(documents, 10)
    assert 0 < planned.in_training < documents
    assert (planned.half > 0) == (documents >= 20)
    assert 2 * planned.half <= planned.in_training


def test_parts_that_were_asked_for_are_all_measured() -> None:
    planned = schedule(100, 100, STEPS_OF_A_START, folds=10)
    assert (planned.folds, planned.measured, planned.in_training) == (10, 10, 90)


@pytest.mark.parametrize(
    ("documents", "folds", "message"),
    [
        (1, 0, "there are 1 documents with values; give at least 3"),
        (5, 1, "folds is 1; it must be from 2 to the number of documents, 5"),
        (5, 6, "folds is 6; it must be from 2 to the number of documents, 5"),
    ],
)
def test_too_few_documents_are_refused(documents: int, folds: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        schedule(documents, documents, STEPS_OF_A_START, folds=folds)


def test_a_schedule_names_only_keys_of_recipes() -> None:
    planned: Schedule = schedule(11, 13, STEPS_OF_AN_ENCODER)
    assert {one.partition("=")[0] for one in planned.assignments()} <= {
        f"train.{key}" for key in recipes.load("finetune-fields").to_dict()["train"]
    }
