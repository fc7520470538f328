"""The training recipe: how pages become a model."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from layoutray import architectures, config, tasks
from layoutray.document.filters import Filters
from layoutray.document.word_graph import FindNeighbours
from layoutray.errors import InputError, RecipeError
from layoutray.recipe import files
from layoutray.recipe.train_section import TrainRecipe
from layoutray.tasks import Task

Plugin = TypeVar("Plugin")

_PEERS = ("bert", "roberta", "layoutlm", "lilt", "longformer")
"""Values of `model.model_type` of architecture `hf`."""


@dataclass(frozen=True, slots=True)
class TokenizerRecipe:
    """The vocabulary. docs/recipes.md explains the keys."""

    path: str = ""
    vocab_size: int = 8000

    def __post_init__(self) -> None:
        if self.vocab_size < 1:
            raise RecipeError(f"tokenizer.vocab_size is {self.vocab_size}; it must be at least 1")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A complete training recipe. docs/recipes.md explains the keys.

    Attributes:
        task: the task with its settings: the section [task].
        model: `arch` and all keys of that architecture's configuration. In a file, [model] may name a `size`, and then
            needs only the keys that differ from it.
    """

    name: str
    task: Task
    train: TrainRecipe
    model: dict[str, Any]
    tokenizer: TokenizerRecipe = field(default_factory=TokenizerRecipe)
    filters: Filters = field(default_factory=Filters)
    max_length: int = 512
    seed: int = 42

    def __post_init__(self) -> None:
        if self.max_length < 3:
            raise RecipeError(
                f"max_length is {self.max_length}; it must be at least 3: two special tokens and one of a word"
            )
        if self.seed < 0:
            raise RecipeError(f"seed is {self.seed}; it must not be negative")

    @property
    def arch(self) -> str:
        return self.model["arch"]

    @property
    def arch_config(self) -> Any:
        return config.build(
            architectures.load(self.arch).config, {k: v for k, v in self.model.items() if k != "arch"}, "model"
        )

    @property
    def find_neighbours(self) -> FindNeighbours:
        """How the word graph is made that the encoder uses; without edges if it uses none."""
        return architectures.load(self.arch).find_neighbours

    def to_dict(self) -> dict[str, Any]:
        """Nested plain dict; `from_dict` turns it back into the same recipe."""
        return config.to_dict(self)


def load(recipe: str, overrides: Sequence[str] = ()) -> Recipe:
    """The training recipe in a TOML file, or the shipped one of that name. Raises RecipeError."""
    return from_dict(files.read(recipe, overrides))


def with_architecture(recipe: Recipe, name: str, size: str, settings: Mapping[str, Any]) -> Recipe:
    """`recipe` with another encoder; if its task labels words, with the architecture's settings for such tasks.

    Args:
        name: an architecture, or the `model_type` of a model of the transformers library.
        size: one of the architecture's.
        settings: keys of [model], which override those of the size and of the task. Keys that the architecture does not
            have are left out.

    Raises:
        RecipeError: if there is no such architecture or size, or a setting has a value that is not allowed.
    """
    arch = {"arch": "hf", "model_type": name} if name in _PEERS else {"arch": name}
    architecture = _named("model.arch", arch["arch"], architectures.load)
    known = {field.name for field in dataclasses.fields(architecture.config)}
    kept = {key: value for key, value in settings.items() if key in known - {"model_type"}}
    tagging = architecture.tagging if isinstance(recipe.task, tasks.TagsWords) else {}
    model = {**tagging, **kept, **arch, "size": size}
    return dataclasses.replace(recipe, model=_resolve_model(model, recipe.max_length))


def from_dict(values: Mapping[str, Any]) -> Recipe:
    """A recipe from nested `values`, with every default filled in and the model's size expanded. Raises RecipeError."""
    task = {"task": _resolve_task(values["task"])} if "task" in values else {}
    recipe = config.build(Recipe, {**values, **task})
    return dataclasses.replace(recipe, model=_resolve_model(recipe.model, recipe.max_length))


def from_stored(values: Mapping[str, Any]) -> Recipe:
    """A recipe from the JSON in a checkpoint or a job, of this version or an earlier one. It opens no file or address.

    Raises RecipeError, also for a field that names a file of known values and does not hold them.

    Earlier versions stored `mask_share`, `fields` and `writing` for every task, and ignored the keys that the task did
    not use (`fields` had to be empty). These keys are dropped here; any other key that the task lacks is an error.
    """
    section = values.get("task")
    if not isinstance(section, Mapping) or "name" not in section:
        return from_dict(values)
    for name, one in dict(section.get("fields") or {}).items():
        if isinstance(one, Mapping) and one.get("known") and not one.get("known_values"):
            raise RecipeError(
                f"task.fields.{name}.known is {one['known']!r:.80}, a file that is not opened; a stored recipe must "
                "have its values as known_values: train the model again"
            )
    keys = tasks.setting_names(_named("task.name", str(section["name"]), tasks.load))
    dropped = {"mask_share", "writing", *(() if section.get("fields") else ("fields",))} - {*keys}
    return from_dict({**values, "task": {key: value for key, value in section.items() if key not in dropped}})


def _resolve_task(section: object) -> Task:
    if not isinstance(section, Mapping):
        raise RecipeError(f"recipe key task must be a section, got {section!r}")
    values = cast(Mapping[str, Any], section)
    if "name" not in values:
        raise RecipeError("recipe key task.name is missing; name a task, for example name = 'masked_lm'")
    name = str(values["name"])
    task = _named("task.name", name, tasks.load)
    try:
        return config.build(task, values, "task")
    except RecipeError as error:
        if values.keys() <= {*tasks.setting_names(task)}:
            raise
        raise RecipeError(f"{error} (task {name})") from error  # a key that other tasks may have


def _resolve_model(model: Mapping[str, Any], max_length: int) -> dict[str, Any]:
    values: dict[str, Any] = {"max_length": max_length, **model}
    if "arch" not in values:
        raise RecipeError("recipe key model.arch is missing; name an architecture, for example arch = 'skimformer'")
    architecture = _named("model.arch", str(values.pop("arch")), architectures.load)
    size = values.pop("size", None)
    if size is not None and str(size) not in architecture.sizes:
        raise RecipeError(f"recipe key model.size is {size!r}; {architecture.name} has {', '.join(architecture.sizes)}")
    start = config.to_dict(architecture.sizes[size]) if size is not None else {}
    complete = config.build(architecture.config, {**start, **values}, "model")
    if complete.max_length < max_length:
        raise RecipeError(f"max_length {max_length} is over model.max_length {complete.max_length}")
    return {"arch": architecture.name, **config.to_dict(complete)}


def _named(key: str, name: str, load: Callable[[str], Plugin]) -> Plugin:
    try:
        return load(name)
    except InputError as error:
        raise RecipeError(f"recipe key {key}: {error}") from error
