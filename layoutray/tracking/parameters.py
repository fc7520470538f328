"""Parameters of a run: its recipe, flat, without the many keys that are at their defaults."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from layoutray.document.filters import Filters
from layoutray.recipe.recipes import Recipe, TokenizerRecipe
from layoutray.recipe.train_section import TrainRecipe

_LONGEST_LIST = 30
_ALWAYS = ("train.steps", "train.batch_size", "train.learning_rate")
_SECTIONS = ("train.", "filters.", "tokenizer.")
"""Sections of a recipe in which most keys are at their defaults."""
_NOTHING = ("", "False", "0.0", "None", "[]")
"""Defaults of a field's keys."""


def of_recipe(recipe: Recipe) -> dict[str, str]:
    """The keys that tell `recipe` from others; the checkpoint has all of them."""
    plain = flat(
        replace(recipe, train=TrainRecipe(recipe.train.steps), filters=Filters(), tokenizer=TokenizerRecipe()).to_dict()
    )

    def tells(key: str, value: str) -> bool:
        if key.startswith("task.fields."):
            return value not in _NOTHING
        return key in _ALWAYS or not key.startswith(_SECTIONS) or value != plain[key]

    return {key: value for key, value in flat(recipe.to_dict()).items() if tells(key, value)}


def encoder_of(recipe: Recipe) -> str:
    """What the encoder is called: its architecture, or the `model_type` of a model of the transformers library."""
    return recipe.model.get("model_type", recipe.arch)


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested values by keys joined by dots."""
    joined: dict[str, str] = {}
    for key, value in values.items():
        joined |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": _shown(value)}
    return joined


def _shown(value: Any) -> str:
    """A long list by its length: it may be the owner's data, and MLflow refuses long parameters."""
    return f"{len(value)} values" if isinstance(value, list | tuple) and len(value) > _LONGEST_LIST else str(value)
