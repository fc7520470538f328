"""Recipes are resolved when they are read, and say everything that a run does."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from layoutray import registry
from layoutray.document.field_type import FieldType
from layoutray.errors import RecipeError
from layoutray.recipe import files, recipes
from layoutray.recipe.ingest import IngestRecipe, load_ingest
from layoutray.recipe.mix import MixRecipe, load_mix
from layoutray.recipe.recipes import Recipe
from layoutray.tasks import GenerationSettings, fields_of
from layoutray.tasks.masked_lm import MaskedLanguageModel
from layoutray.tasks.summary import Summary


def values(**changes: Any) -> dict[str, Any]:
    plain = {
        "name": "r",
        "task": {"name": "masked_lm"},
        "train": {"steps": 4},
        "model": {"arch": "skimformer", "size": "tiny"},
        "max_length": 128,
    }
    return plain | changes


def shipped() -> list[Path]:
    return sorted(Path(str(file)) for file in files.RECIPES.iterdir())


@pytest.mark.parametrize("file", shipped(), ids=lambda file: file.stem)
def test_shipped_recipes_resolve_and_come_back_from_their_dict(file: Path) -> None:
    keys = tomllib.loads(file.read_text(encoding="utf-8"))
    if "reader" in keys:
        assert isinstance(load_ingest(file.stem), IngestRecipe)
    elif "shares" in keys:
        assert isinstance(load_mix(file.stem), MixRecipe)
    else:
        loaded = recipes.load(file.stem)
        assert recipes.from_dict(loaded.to_dict()) == loaded
        assert json.loads(json.dumps(loaded.to_dict())) == loaded.to_dict()


def test_a_size_is_expanded_and_the_window_becomes_the_models() -> None:
    resolved = recipes.from_dict(values())
    assert (resolved.model["hidden"], resolved.model["layers"], resolved.model["max_length"]) == (128, 2, 128)
    assert "size" not in resolved.model
    assert resolved.arch_config.hidden == 128


def test_a_key_beside_the_size_wins() -> None:
    assert recipes.from_dict(values(model={"arch": "skimformer", "size": "tiny", "layers": 5})).arch_config.layers == 5


def test_the_wanted_fields_are_sections_with_their_type() -> None:
    fields = {"total": {"type": "amount"}, "party": {"type": "name", "many": True}}
    resolved = recipes.from_dict(values(task={"name": "entities", "fields": fields}))
    assert fields_of(resolved.task) == {"total": FieldType(type="amount"), "party": FieldType(type="name", many=True)}
    assert recipes.from_dict(resolved.to_dict()) == resolved


def test_the_default_of_a_model_without_size_is_the_papers() -> None:
    assert recipes.from_dict(values(model={"arch": "skimformer"})).arch_config.layers == 12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"size": "tiny"}}, r"model\.arch is missing"),
        ({"model": {"arch": "skimmer"}}, r"model\.arch: unknown name 'skimmer'.*known: .*skimformer"),
        (
            {"model": {"arch": "skimformer", "size": "huge"}},
            r"model\.size is 'huge'; skimformer has tiny, small, minilm, base",
        ),
        ({"model": {"arch": "skimformer", "hiden": 3}}, r"unknown recipe key model\.hiden \(did you mean hidden\?\)"),
        ({"model": {"arch": "skimformer", "layers": 0}}, r"section model: layers is 0; it must be at least 1"),
        ({"model": {"arch": "skimformer", "max_length": 64}}, r"max_length 128 is over model\.max_length 64"),
        ({"task": {"name": "no_task"}}, r"task\.name: unknown name 'no_task'.*known: .*masked_lm"),
        ({"task": {"name": "masked_lm", "mask_share": 0.0}}, r"task\.mask_share is 0\.0"),
        (
            {"task": {"name": "entities", "fields": {"total": {"type": "money"}}}},
            r"task\.fields\.total\.type: .*'amount'.*got 'money'",
        ),
        (
            {"task": {"name": "entities", "fields": {"total": {"min_score": -0.5}}}},
            r"task\.fields\.total\.min_score is -0\.5; it must be a number of at least 0",
        ),
        (
            {"task": {"name": "entities", "fields": {"party": {"type": "name", "is_sum": True}}}},
            r"task\.fields\.party has is_sum and the type 'name'; only an 'amount' can be a sum",
        ),
        ({"task": {"name": "entities", "fields": {"a=b": {}}}}, r"task\.fields names 'a=b'"),
        (
            {"task": {"name": "masked_lm", "fields": {}}},
            r"unknown recipe key task\.fields; known here: name, mask_share \(task masked_lm\)",
        ),
        (
            {"task": {"name": "masked_lm", "mask_shar": 0.1}},
            r"unknown recipe key task\.mask_shar \(did you mean mask_share\?\); .* \(task masked_lm\)",
        ),
        ({"task": {"name": "layout_labels", "mask_share": 0.15}}, r"unknown recipe key task\.mask_share; .*: name \("),
        ({"task": {"mask_share": 0.1}}, r"recipe key task\.name is missing"),
        ({"task": "masked_lm"}, r"recipe key task must be a section, got 'masked_lm'"),
        (
            {"task": {"name": "generate_fields"}},
            r"task\.fields is missing: name the fields that generate_fields generates",
        ),
        (
            {"task": {"name": "generate_fields", "fields": {"a:b": {}}}},
            r"section task: task\.fields: the field name is 'a:b'",
        ),
        (
            {"task": {"name": "summary", "writing": {"min_length": 9, "max_length": 8}}},
            "min_length is 9; it must be at most max_length, .* 8",
        ),
        ({"task": {"name": "summary", "writing": {"min_length": -1}}}, "min_length is -1; it must be at least 0"),
        (
            {"train": {"steps": 4, "batch_size": 6, "micro_batch_size": 4}},
            r"batch_size 6 must be a multiple of train\.micro_batch_size 4",
        ),
        ({"train": {"steps": 4, "warmup_steps": 5}}, r"warmup_steps 5 must not exceed train\.steps 4"),
        ({"train": {"steps": 0}}, r"steps is 0; it must be at least 1"),
        ({"train": {"steps": 4, "learning_rate": -1.0}}, r"learning_rate is -1\.0"),
        ({"train": {"steps": 4, "clip": float("nan")}}, r"clip is nan"),
        ({"train": {"steps": 4, "box_jitter": 1.0}}, r"box_jitter is 1\.0; it must be at least 0 and below 1"),
        ({"train": {}}, r"train\.steps is missing"),
        ({"max_length": 2}, r"max_length is 2; it must be at least 3"),
        ({"seed": -1}, r"seed is -1"),
    ],
)
def test_what_cannot_be_trained_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        recipes.from_dict(values(**changes))


@pytest.mark.parametrize(
    ("batch_size", "given", "used"),
    [(8, {}, 4), (2, {}, 2), (6, {}, 3), (7, {}, 1), (3, {"micro_batch_size": 8}, 3), (16, {"micro_batch_size": 8}, 8)],
)
def test_the_micro_batch_fits_the_batch(batch_size: int, given: dict[str, int], used: int) -> None:
    resolved = recipes.from_dict(values(train={"steps": 4, "batch_size": batch_size, **given}))
    assert resolved.train.micro_batch_size == used
    assert recipes.from_dict(resolved.to_dict()) == resolved


def test_a_task_is_the_section_of_its_recipe() -> None:
    resolved = recipes.from_dict(values(task={"name": "masked_lm", "mask_share": 0.3}))
    assert resolved.task == MaskedLanguageModel(mask_share=0.3)
    assert resolved.to_dict()["task"] == {"name": "masked_lm", "mask_share": 0.3}


OF_EVERY_TASK = {
    "mask_share": 0.15,
    "fields": {},
    "writing": {
        "max_length": 128,
        "min_length": 0,
        "no_repeat": 0,
        "label_smoothing": 0.0,
        "decoder": {
            "layers": 6,
            "heads": 8,
            "feed_forward": 3072,
            "dropout": 0.1,
            "attention_dropout": 0.1,
            "positions": "none",
        },
        "begin": "start",
    },
}
"""What earlier versions stored in the section [task] of every recipe, if the user had set nothing but the name."""


@pytest.mark.parametrize("name", sorted(registry.names("layoutray.tasks", "TASK")))
def test_recipes_of_earlier_versions_have_the_keys_of_every_task(name: str) -> None:
    fields = {"total": {"type": "amount"}} if name == "generate_fields" else {}
    stored = values(task={"name": name, **OF_EVERY_TASK, "fields": fields})
    own = {"name": name, "fields": fields} if fields else {"name": name}
    assert recipes.from_stored(stored) == recipes.from_dict(values(task=own))
    assert recipes.from_stored(recipes.from_stored(stored).to_dict()) == recipes.from_stored(stored)


def test_keys_of_a_stored_recipe_that_its_task_ignored_are_dropped_and_its_own_are_kept() -> None:
    task = {"name": "masked_lm", **OF_EVERY_TASK, "mask_share": 0.3, "writing": {"begin": "end", "max_length": 9}}
    assert recipes.from_stored(values(task=task)).task == MaskedLanguageModel(mask_share=0.3)
    task = {"name": "summary", **OF_EVERY_TASK, "mask_share": 0.3, "writing": {"begin": "end", "max_length": 9}}
    assert recipes.from_stored(values(task=task)).task == Summary(writing=GenerationSettings(begin="end", max_length=9))


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"name": "masked_lm", **OF_EVERY_TASK, "mask": 0.1}, r"unknown recipe key task\.mask; "),
        ({"name": "masked_lm", **OF_EVERY_TASK, "fields": {"total": {}}}, r"unknown recipe key task\.fields"),
        ({"name": "no_task", **OF_EVERY_TASK}, r"task\.name: unknown name 'no_task'"),
        (OF_EVERY_TASK, r"task\.name is missing"),
        (3, "task must be a section"),
    ],
)
def test_a_stored_recipe_that_no_version_wrote_is_refused(task: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        recipes.from_stored(values(task=task))


def test_overrides_reach_into_sections(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "name = 'm'\n[task]\nname = 'entities'\n[train]\nsteps = 5\n[model]\narch = 'skimformer'\nsize = 'tiny'\n"
    )
    loaded = recipes.load(
        str(file), ["train.steps=7", "model.arch=hf", "model.model_type=layoutlm", "tokenizer.path=some/folder"]
    )
    assert isinstance(loaded, Recipe)
    assert (loaded.train.steps, loaded.arch, loaded.model["model_type"], loaded.tokenizer.path) == (
        7,
        "hf",
        "layoutlm",
        "some/folder",
    )


def test_an_unknown_name_lists_the_shipped_recipes() -> None:
    with pytest.raises(RecipeError, match=r"no recipe called .nothing.; shipped: .*finetune-fields"):
        recipes.load("nothing")


def test_shares_of_an_ingest_recipe_leave_pages_to_train_on(tmp_path: Path) -> None:
    file = tmp_path / "all.toml"
    file.write_text("reader = 'folder'\ndev_share = 0.5\ntest_share = 0.5\n")
    with pytest.raises(RecipeError, match=r"dev_share 0\.5 and test_share 0\.5"):
        load_ingest(str(file))


@pytest.mark.parametrize(
    ("splits", "named"),
    [("train = 'a'", "splits.train is 'a'"), ("dev = '('", "splits.dev is '('"), ("test = ''", "splits.test is ''")],
)
def test_splits_by_name_are_dev_and_test_each_with_an_expression(tmp_path: Path, splits: str, named: str) -> None:
    file = tmp_path / "all.toml"
    file.write_text(f"reader = 'folder'\n[splits]\n{splits}\n")
    with pytest.raises(RecipeError, match=re.escape(named) + "; allowed are dev and test"):
        load_ingest(str(file))


@pytest.mark.parametrize("stored", [{}, {"known_values": []}])
def test_a_stored_recipe_opens_no_file(stored: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("A secret\n")
    field = {"type": "name", "known": str(tmp_path / "secret")}
    task = {"name": "entities", "fields": {"vendor": field | stored}}
    assert recipes.from_dict(values(task=task)).to_dict()["task"]["fields"]["vendor"]["known_values"] == ["A secret"]
    with pytest.raises(RecipeError, match=r"task\.fields\.vendor\.known .* is not opened"):
        recipes.from_stored(values(task=task))
    kept = recipes.from_dict(values(task=task)).to_dict()
    (tmp_path / "secret").unlink()
    assert recipes.from_stored(kept).to_dict() == kept
