"""Recipes: the complete settings of a run, as TOML on disk and as frozen dataclasses in memory.

There are three kinds. An ingest recipe says how files become pages with words, a mix recipe how pages of several data
sets become one data set, and a training recipe how pages become a model.
"""

import dataclasses
import importlib.resources
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from layoutray import architectures, config, registry, tasks
from layoutray.document.filters import Filters
from layoutray.document.word_graph import FindNeighbours
from layoutray.errors import InputError, RecipeError
from layoutray.ocr.settings import Recognition
from layoutray.recipe.train_section import TrainRecipe
from layoutray.tasks import Task

Plugin = TypeVar("Plugin")

_PEERS = ("bert", "roberta", "layoutlm", "lilt", "longformer")
"""Values of `model.model_type` of architecture `hf`."""

RECIPES = importlib.resources.files("layoutray") / "recipe" / "shipped"
"""The shipped recipes, as TOML files."""
_GROUP = "layoutray.recipe.shipped"
"""Group of entry points: packages with further recipes."""


@dataclass(frozen=True, slots=True)
class IngestRecipe:
    """How files become PAGES.

    Attributes:
        reader: name of the data set's reader.
        words: source of the words: `ocr` recognises them, `annotation` takes those of the data set.
        only: shell pattern of the names of files that are documents; other files are ignored and not counted.
        splits: for `dev` and `test`, a regular expression, matched from the start of file names, of the documents in
            that split. A split that the data set defines itself takes precedence.
        measured: the data set's own split that becomes `test`. `dev` is for sets whose publisher does not release the
            truth of test: the set's test is left out, and `dev_share` is taken from train.
        dev_share, test_share: shares of the documents, selected by a hash of their id, that become dev and test if
            neither the data set nor `splits` defines these splits.
        split_by: regular expression with one group, matched from the start of file names. Documents with the same
            group go into the same split, because pages of one document may come as several files. Empty: each document
            on its own.
        pages_per_shard: pages that a writer commits together; a killed run loses at most this many per writer.
        recognition: settings of OCR.
    """

    reader: str
    words: Literal["ocr", "annotation"] = "ocr"
    only: str = "*"
    splits: dict[str, str] = field(default_factory=dict[str, str])
    measured: Literal["test", "dev"] = "test"
    dev_share: float = 0.1
    test_share: float = 0.0
    split_by: str = ""
    pages_per_shard: int = 64
    recognition: Recognition = field(default_factory=Recognition)

    def __post_init__(self) -> None:
        if not (self.dev_share >= 0 and self.test_share >= 0 and self.dev_share + self.test_share < 1):
            raise RecipeError(
                f"dev_share {self.dev_share} and test_share {self.test_share} must not be negative, "
                "and their sum must be below 1, so that pages are left for training"
            )
        for split, pattern in self.splits.items():
            if split not in ("dev", "test") or not pattern or _groups(pattern) is None:
                raise RecipeError(
                    f"splits.{split} is {pattern!r}; "
                    "allowed are dev and test, each with a regular expression of file names"
                )
        if self.pages_per_shard < 1:
            raise RecipeError(f"pages_per_shard is {self.pages_per_shard}; it must be at least 1")
        if self.split_by and _groups(self.split_by) != 1:
            raise RecipeError(
                f"split_by is {self.split_by!r}; "
                "it must be a regular expression with one group, for example '(.+)_[0-9]+'"
            )


@dataclass(frozen=True, slots=True)
class MixRecipe:
    """How several PAGES data sets become one, as in the MIX of the Skim-Attention paper (section 4.1).

    Attributes:
        shares: shares of the mix's pages by the name of the data set's folder; their sum is 1.
        train, dev, test: number of pages of each split; 0 takes as many as the shares allow.
        seed: selects the pages of a data set that has more than its share.
    """

    shares: dict[str, float] = field(default_factory=dict[str, float])
    train: int = 0
    dev: int = 0
    test: int = 0
    seed: int = 42

    def __post_init__(self) -> None:
        if not self.shares:
            raise RecipeError(
                "a mix needs [shares]: the share of each data set, by the name of its folder; their sum is 1"
            )
        if min(self.shares.values()) <= 0 or not math.isclose(sum(self.shares.values()), 1, abs_tol=1e-6):
            stated = ", ".join(f"{name} = {share}" for name, share in self.shares.items())
            raise RecipeError(
                f"the shares {stated} must be above 0, and their sum must be 1; it is {sum(self.shares.values()):.6g}"
            )
        for split in ("train", "dev", "test"):
            if getattr(self, split) < 0:
                raise RecipeError(
                    f"{split} is {getattr(self, split)}; it must be a number of pages, or 0 for as many as possible"
                )


@dataclass(frozen=True, slots=True)
class TokenizerRecipe:
    """The vocabulary.

    Attributes:
        path: a `tokenizer.json`, or a folder with one or with an older kind of vocabulary file; empty trains a
            WordPiece vocabulary on the training pages.
        vocab_size: size of a trained vocabulary.
    """

    path: str = ""
    vocab_size: int = 8000

    def __post_init__(self) -> None:
        if self.vocab_size < 1:
            raise RecipeError(f"tokenizer.vocab_size is {self.vocab_size}; it must be at least 1")


@dataclass(frozen=True)
class Recipe:
    """A complete training recipe.

    Attributes:
        task: the task with its settings: the section [task].
        model: `arch` and all keys of that architecture's configuration. In a file, [model] may name a `size`, and then
            needs only the keys that differ from it.
        filters: which pages `encode` takes; all by default.
        max_length: most tokens of an example (a window, or a document), its two special tokens included.
        seed: of initial weights, order of examples, dropout, masking and the choice of `train.documents`.
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
        """The architecture's configuration."""
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


def _groups(pattern: str) -> int | None:
    """Number of groups of a regular expression; None if `pattern` is not one."""
    try:
        return re.compile(pattern).groups
    except re.error:
        return None


def load(recipe: str, overrides: Sequence[str] = ()) -> Recipe:
    """The training recipe in a TOML file, or the shipped one of that name. Raises RecipeError."""
    return from_dict(config.override(config.read_toml(_find(recipe)), overrides))


def load_ingest(recipe: str, overrides: Sequence[str] = ()) -> IngestRecipe:
    """The ingest recipe in a TOML file, or the shipped one of that name. Raises RecipeError."""
    return config.build(IngestRecipe, config.override(config.read_toml(_find(recipe)), overrides))


def load_mix(recipe: str, overrides: Sequence[str] = ()) -> MixRecipe:
    """The mix recipe in a TOML file, or the shipped one of that name. Raises RecipeError."""
    return config.build(MixRecipe, config.override(config.read_toml(_find(recipe)), overrides))


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
    """A recipe from the JSON in a checkpoint or a job, of this version or an earlier one. Raises RecipeError.

    Earlier versions stored `mask_share`, `fields` and `writing` for every task, and ignored the keys that the task did
    not use (`fields` had to be empty). These keys are dropped here; any other key that the task lacks is an error.
    """
    section = values.get("task")
    if not isinstance(section, Mapping) or "name" not in section:
        return from_dict(values)
    keys = tasks.setting_names(_named("task.name", str(section["name"]), tasks.load))
    dropped = {"mask_share", "writing", *(() if section.get("fields") else ("fields",))} - {*keys}
    return from_dict({**values, "task": {key: value for key, value in section.items() if key not in dropped}})


def to_json(recipe: Recipe | IngestRecipe | MixRecipe) -> str:
    """Stable, readable JSON of a recipe."""
    return json.dumps(config.to_dict(recipe), indent=2, sort_keys=True)


def _resolve_task(section: object) -> Task:
    """The task of a section [task]."""
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


def _find(recipe: str) -> Traversable:
    path = Path(recipe)
    if path.suffix == ".toml":
        return path
    shipped = {file.name: file for folder in (*registry.folders(_GROUP), RECIPES) for file in folder.iterdir()}
    if f"{recipe}.toml" not in shipped:
        known = sorted(name.removesuffix(".toml") for name in shipped if name.endswith(".toml"))
        raise RecipeError(f"no recipe called {recipe!r}; shipped: {', '.join(known)}; or give the path of a .toml file")
    return shipped[f"{recipe}.toml"]
