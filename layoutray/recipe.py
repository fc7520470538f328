"""Recipes: what a run does, as TOML on disk and frozen dataclasses in memory. The record of a run is its input.

Three kinds: an ingest recipe says how files become pages with words, a mix recipe which pages of several data sets become
one, and a training recipe how words become a model.
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
from typing import Any, Literal, TypeVar

from layoutray import architectures, config, tasks
from layoutray.document.field_lines import check_names
from layoutray.document.field_type import FieldType
from layoutray.document.filters import Filters
from layoutray.errors import InputError, RecipeError
from layoutray.ocr.settings import Recognition
from layoutray.tasks import Writing
from layoutray.tasks.entities import Entities
from layoutray.tasks.generate_fields import GenerateFields

Plugin = TypeVar("Plugin")

RECIPES = importlib.resources.files("layoutray") / "recipes"
"""The shipped recipes, as TOML files."""


@dataclass(frozen=True, slots=True)
class IngestRecipe:
    """How files become PAGES.

    Attributes:
        reader: name of the data set's reader.
        words: `ocr` reads the pictures, `annotation` takes the words that the data set ships.
        only: which files are documents, as a shell pattern of their names; the others are left out and counted nowhere.
        splits: regular expressions, matched from the start of file names, of the documents that go to `dev` and to `test`, each where
            the set has no such split of its own.
        measured: the set's own split that becomes `test`: `dev` where the publisher keeps the truth of its test to himself. The set's test
            is left out then, and `dev_share` is taken from train.
        dev_share, test_share: share of documents, by hash of their id, that go to dev and test where neither says more.
        split_by: regular expression over file names; documents whose first group is the same go into the same split, so that
            pages of one document that come as several files do not leak. Empty: each document for itself.
        pages_per_shard: pages committed together; what a killed run loses at most, per writer.
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
                f"dev_share {self.dev_share} and test_share {self.test_share} must not be negative and must leave some training pages"
            )
        for split, pattern in self.splits.items():
            if split not in ("dev", "test") or not pattern or _groups(pattern) is None:
                raise RecipeError(
                    f"splits.{split} is {pattern!r}; allowed are dev and test, each with a regular expression of file names"
                )
        if self.pages_per_shard < 1:
            raise RecipeError(f"pages_per_shard is {self.pages_per_shard}; it must be at least 1")
        if self.split_by and _groups(self.split_by) != 1:
            raise RecipeError(
                f"split_by is {self.split_by!r}; it must be a regular expression with one group, such as '(.+)_[0-9]+'"
            )


@dataclass(frozen=True, slots=True)
class MixRecipe:
    """How several PAGES data sets become one, as the Skim-Attention paper makes its MIX (section 4.1).

    Attributes:
        shares: of the mix's pages, by the name of the data set's folder; they sum up to 1.
        train, dev, test: pages of each split; 0 takes as many as the shares allow.
        seed: which pages are taken where a data set has more than its share.
    """

    shares: dict[str, float] = field(default_factory=dict[str, float])
    train: int = 0
    dev: int = 0
    test: int = 0
    seed: int = 42

    def __post_init__(self) -> None:
        if not self.shares:
            raise RecipeError("a mix needs [shares]: a part of 1 for each data set, by the name of its folder")
        if min(self.shares.values()) <= 0 or not math.isclose(sum(self.shares.values()), 1, abs_tol=1e-6):
            stated = ", ".join(f"{name} = {share}" for name, share in self.shares.items())
            raise RecipeError(
                f"the shares {stated} must be above 0 and sum up to 1, not to {sum(self.shares.values()):.6g}"
            )
        for split in ("train", "dev", "test"):
            if getattr(self, split) < 0:
                raise RecipeError(
                    f"{split} is {getattr(self, split)}; it must be 0 (as many as possible) or a number of pages"
                )


@dataclass(frozen=True, slots=True)
class TokenizerRecipe:
    """Attributes:
    path: a `tokenizer.json`, or a folder that holds one or an older vocabulary; empty trains a WordPiece vocabulary on the training pages.
    vocab_size: of the trained vocabulary.
    """

    path: str = ""
    vocab_size: int = 8000

    def __post_init__(self) -> None:
        if self.vocab_size < 1:
            raise RecipeError(f"tokenizer.vocab_size is {self.vocab_size}; it must be at least 1")


@dataclass(frozen=True, slots=True)
class TaskRecipe:
    """Attributes:
    name: of the task.
    mask_share: masked_lm and span_infilling: share of non-special tokens to predict (both papers' 15 %).
    fields: entities and entities_bioes: the wanted fields of a document by their names, each a section of `FieldType`. Words
        are then tagged from the documents' values, and tags that the pages have are not read. generate_fields: the fields to write.
    writing: summary and generate_fields: how texts are written; of span_infilling, its decoder.
    """

    name: str
    mask_share: float = 0.15
    fields: dict[str, FieldType] = field(default_factory=dict[str, FieldType])
    writing: Writing = field(default_factory=Writing)

    def __post_init__(self) -> None:
        if not 0 < self.mask_share <= 1:
            raise RecipeError(f"task.mask_share is {self.mask_share}; it must be above 0 and at most 1")
        if not all(name.strip() and "=" not in name for name in self.fields):
            raise RecipeError(
                f"task.fields names {', '.join(map(repr, self.fields))}; a name must not be empty or hold ="
            )
        for name, wanted in self.fields.items():
            if not 0 <= wanted.min_score < math.inf:
                raise RecipeError(
                    f"task.fields.{name}.min_score is {wanted.min_score}; it must be a number of at least 0"
                )


@dataclass(frozen=True, slots=True)
class TrainRecipe:
    """How long and how to optimise.

    Attributes:
        steps: optimiser steps.
        batch_size: windows per step over all workers and accumulations.
        micro_batch_size: windows per forward pass; a fixed unit with its own random numbers, which is why the loss does
            not depend on how many workers share a step.
        learning_rate: peak, after warm-up.
        warmup_steps: linear from 0; then linear decay to 0 at `steps`.
        weight_decay: not on biases and norms.
        clip: largest gradient norm; 0 is off.
        precision: `bf16` autocast (for GPUs, and CPUs that multiply in it) or `fp32`.
        evaluate_every, checkpoint_every: in steps; 0 means at the end of training only.
        box_jitter: stretch and move the boxes of each training window by up to this share of the page; 0 (the papers) is off.
        patience: stop after this many evaluations without a better one; 0 is off.
    """

    steps: int
    batch_size: int = 8
    micro_batch_size: int = 4
    learning_rate: float = 1e-4
    warmup_steps: int = 0
    weight_decay: float = 0.01
    adam_beta1: float = 0.9
    adam_beta2: float = 0.999
    adam_epsilon: float = 1e-8
    clip: float = 1.0
    precision: Literal["fp32", "bf16"] = "fp32"
    evaluate_every: int = 0
    checkpoint_every: int = 0
    patience: int = 0
    box_jitter: float = 0.0

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "micro_batch_size"):
            if getattr(self, name) < 1:
                raise RecipeError(f"train.{name} is {getattr(self, name)}; it must be at least 1")
        for name in (
            "learning_rate",
            "warmup_steps",
            "weight_decay",
            "clip",
            "evaluate_every",
            "checkpoint_every",
            "patience",
        ):
            if not 0 <= getattr(self, name) < math.inf:
                raise RecipeError(f"train.{name} is {getattr(self, name)}; it must be a number that is not negative")
        if not 0 <= self.box_jitter < 1:
            raise RecipeError(f"train.box_jitter is {self.box_jitter}; it must be at least 0 and below 1")
        if self.batch_size % self.micro_batch_size:
            raise RecipeError(
                f"train.batch_size {self.batch_size} must be a multiple of train.micro_batch_size {self.micro_batch_size}"
            )
        if self.warmup_steps > self.steps:
            raise RecipeError(f"train.warmup_steps {self.warmup_steps} must not exceed train.steps {self.steps}")


@dataclass(frozen=True)
class Recipe:
    """A whole training recipe.

    Attributes:
        model: `arch`, optionally `size`, and any key of that architecture's configuration; resolved when read.
        filters: which pages `encode` takes; all, unless something is stated.
        max_length: tokens per window, or per document where a task writes, the two special ones included.
        seed: of initial weights, order of windows, dropout and masking.
    """

    name: str
    task: TaskRecipe
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
        """The architecture's own configuration, complete."""
        return config.build(
            architectures.load(self.arch).config, {k: v for k, v in self.model.items() if k != "arch"}, "model"
        )

    def to_dict(self) -> dict[str, Any]:
        """Nested plain dict; `from_dict` gives the same recipe back."""
        return config.to_dict(self)


def _groups(pattern: str) -> int | None:
    """How many groups a regular expression has; None where it is none."""
    try:
        return re.compile(pattern).groups
    except re.error:
        return None


def load(recipe: str, overrides: Sequence[str] = ()) -> Recipe:
    """The training recipe in a TOML file, or shipped under that name. Raises RecipeError."""
    return from_dict(config.override(config.read_toml(_find(recipe)), overrides))


def load_ingest(recipe: str, overrides: Sequence[str] = ()) -> IngestRecipe:
    """The ingest recipe in a TOML file, or shipped under that name. Raises RecipeError."""
    return config.build(IngestRecipe, config.override(config.read_toml(_find(recipe)), overrides))


def load_mix(recipe: str, overrides: Sequence[str] = ()) -> MixRecipe:
    """The mix recipe in a TOML file, or shipped under that name. Raises RecipeError."""
    return config.build(MixRecipe, config.override(config.read_toml(_find(recipe)), overrides))


def from_dict(values: Mapping[str, Any]) -> Recipe:
    """A recipe with its model configuration resolved: size expanded, every default filled in. Raises RecipeError."""
    recipe = config.build(Recipe, values)
    task = _named("task.name", recipe.task.name, tasks.load)
    if recipe.task.fields and not isinstance(task, Entities | GenerateFields):
        raise RecipeError(
            f"task.fields needs a task that finds fields, such as entities_bioes; {recipe.task.name} finds none"
        )
    if isinstance(task, GenerateFields):
        _check_written(recipe.task.fields)
    return dataclasses.replace(recipe, model=_resolve_model(recipe.model, recipe.max_length))


def _check_written(fields: Mapping[str, FieldType]) -> None:
    if not fields:
        raise RecipeError(
            "task.fields is missing: name the fields that generate_fields should write, such as total = { type = 'amount' }"
        )
    try:
        check_names(fields)
    except InputError as error:
        raise RecipeError(f"recipe section task.fields: {error}") from error


def to_json(recipe: Recipe | IngestRecipe | MixRecipe) -> str:
    """Stable, readable JSON of a recipe."""
    return json.dumps(config.to_dict(recipe), indent=2, sort_keys=True)


def _resolve_model(model: Mapping[str, Any], max_length: int) -> dict[str, Any]:
    values: dict[str, Any] = {"max_length": max_length, **model}
    if "arch" not in values:
        raise RecipeError("recipe key model.arch is missing; name an architecture, e.g. arch = 'skimformer'")
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
    shipped = RECIPES / f"{recipe}.toml"
    if not shipped.is_file():
        known = sorted(file.name.removesuffix(".toml") for file in RECIPES.iterdir())
        raise RecipeError(f"no recipe called {recipe!r}; shipped: {', '.join(known)}; or give the path of a .toml file")
    return shipped
