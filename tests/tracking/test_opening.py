"""What a run tells from its opening on: parameters that tell its recipe from others, and where it comes from."""

import getpass

from layoutray.recipe import recipes
from layoutray.tracking.opening import command_tags, encoder_of, flat, recipe_parameters
from tests.jobs import recipe


def test_keys_at_their_defaults_are_left_out_and_others_are_kept() -> None:
    shown = recipe_parameters(recipe("entities", patience=3))
    assert (
        shown.items()
        >= {
            "task.name": "entities",
            "model.arch": "skimformer",
            "model.hidden": "32",
            "train.steps": "20",
            "train.batch_size": "8",
            "train.patience": "3",
            "tokenizer.vocab_size": "120",
            "seed": "3",
        }.items()
    )
    assert not {"train.adam_beta1", "train.windows", "filters.min_words", "tokenizer.path"} & shown.keys()


def test_a_field_shows_only_what_is_set_of_it() -> None:
    chosen = recipes.load("finetune-fields", ["task.fields.total.type=amount"])
    fields = {key for key in recipe_parameters(chosen) if key.startswith("task.fields.total.")}
    assert fields == {"task.fields.total.type"}
    assert len(recipe_parameters(chosen)) < 40 < len(flat(chosen.to_dict()))


def test_an_encoder_of_the_transformers_library_is_called_as_there() -> None:
    chosen = recipe("entities")
    assert encoder_of(chosen) == "skimformer"
    assert encoder_of(recipes.with_architecture(chosen, "layoutlm", "tiny", {})) == "layoutlm"


def test_a_long_list_is_its_length() -> None:
    assert flat({"a": {"b": [*range(31)], "c": (1, 2)}}) == {"a.b": "31 values", "a.c": "(1, 2)"}


def test_the_tags_name_the_verb_the_person_and_the_command() -> None:
    tags = command_tags("layoutray finetune small examples --out runs")
    assert (
        tags.items()
        >= {
            "mlflow.source.name": "layoutray finetune",
            "mlflow.source.type": "LOCAL",
            "mlflow.user": getpass.getuser(),
            "command": "layoutray finetune small examples --out runs",
        }.items()
    )
    assert all(tags.values())
