"""The ingest recipe: how files become pages with words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from layoutray import config
from layoutray.errors import RecipeError
from layoutray.ocr.settings import Recognition
from layoutray.recipe import files


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRecipe:
    """How files become PAGES. docs/recipes.md explains the keys."""

    reader: str
    words: Literal["ocr", "annotation"] = "ocr"
    only: str = "*"
    splits: dict[str, str] = field(default_factory=dict[str, str])
    measured: Literal["test", "dev", "none"] = "test"
    dev_share: float = 0.1
    test_share: float = 0.0
    split_by: str = ""
    pages_per_shard: int = 64
    from_model: str = ""
    pictures: tuple[str, ...] = ()
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
        if self.from_model and self.reader == "reviewed":
            raise RecipeError(f"from_model is {self.from_model!r}; values of reviewed documents are those of a person")
        if self.split_by and _groups(self.split_by) != 1:
            raise RecipeError(
                f"split_by is {self.split_by!r}; "
                "it must be a regular expression with one group, for example '(.+)_[0-9]+'"
            )


def load_ingest(recipe: str, overrides: Sequence[str] = ()) -> IngestRecipe:
    """The ingest recipe in a TOML file, or the shipped one of that name. Raises RecipeError."""
    return config.build(IngestRecipe, files.read(recipe, overrides))


def _groups(pattern: str) -> int | None:
    """Number of groups of a regular expression; None if `pattern` is not one."""
    try:
        return re.compile(pattern).groups
    except re.error:
        return None
