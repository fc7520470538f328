"""What is known of a run when it opens: parameters that tell its recipe from others, its data set, and its command."""

import getpass
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mlflow.utils import mlflow_tags
from mlflow.utils.git_utils import get_git_commit

from layoutray.document.filters import Filters
from layoutray.recipe.recipes import Recipe, TokenizerRecipe
from layoutray.recipe.train_section import TrainRecipe

COMMAND = "command"
"""Tag with the command that makes the run again."""
_LONGEST_LIST = 30
_ALWAYS = ("train.steps", "train.batch_size", "train.learning_rate")
_SECTIONS = ("train.", "filters.", "tokenizer.")
"""Sections of a recipe in which most keys are at their defaults."""
_NOTHING = ("", "False", "0.0", "None", "[]")
"""Defaults of a field's keys."""


@dataclass(frozen=True, kw_only=True)
class DataUsed:
    """A data set that a run has read.

    Attributes:
        title: its name in MLflow.
        digest: identity of its content.
        folder: path or address.
        context: what it was used for: `training`, or the measured split.
        counts: what there is how often, by split or in all.
    """

    title: str
    digest: str
    folder: str
    context: str
    counts: Mapping[str, int | Mapping[str, int]]


def titled(documents: str, words: str) -> str:
    """The name of a data set, of which these are the documents and the word sources, if they are known."""
    return f"{documents}, {words}" if words else documents


def recipe_parameters(recipe: Recipe) -> dict[str, str]:
    """The keys that tell `recipe` from others; the checkpoint has all of them."""
    plain = flat(
        replace(
            recipe, train=TrainRecipe(steps=recipe.train.steps), filters=Filters(), tokenizer=TokenizerRecipe()
        ).to_dict()
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


def command_tags(command: str) -> dict[str, str]:
    """Tags of a run that `command` has started: source, command, login name and commit, those that are known.

    Args:
        command: `layoutray VERB ...` in a shell, or `layoutray.VERB(...)` in Python.
    """
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = ""
    here = Path(__file__)
    is_installed = "site-packages" in here.parts  # from a wheel, and not used from its repository
    known = {
        mlflow_tags.MLFLOW_SOURCE_NAME: " ".join(command.partition("(")[0].split()[:2]),
        mlflow_tags.MLFLOW_SOURCE_TYPE: "LOCAL",
        COMMAND: command,
        mlflow_tags.MLFLOW_USER: user,
        mlflow_tags.MLFLOW_GIT_COMMIT: "" if is_installed else get_git_commit(str(here)) or "",
    }
    return {name: value for name, value in known.items() if value}
