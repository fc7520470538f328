"""Files of recipes: TOML on disk, a nested dict in memory."""

import importlib.resources
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from layoutray import config, registry
from layoutray.errors import RecipeError

RECIPES = importlib.resources.files("layoutray") / "recipe" / "shipped"
"""The shipped recipes, as TOML files."""
_GROUP = "layoutray.recipe.shipped"
"""Group of entry points: packages with further recipes."""


def read(recipe: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The values of a TOML file, or of the shipped recipe of that name, with `KEY=VALUE` overrides.

    Raises:
        RecipeError: if there is no such file or recipe, or an override cannot be applied.
    """
    return config.override(config.read_toml(find(recipe)), overrides)


def shipped() -> dict[str, Traversable]:
    """The files of the shipped recipes by name, those of other packages included."""
    found = (file for folder in (*registry.folders(_GROUP), RECIPES) for file in folder.iterdir())
    return {file.name.removesuffix(".toml"): file for file in found if file.name.endswith(".toml")}


def find(recipe: str) -> Traversable:
    """A TOML file, or that of the shipped recipe of that name. Raises RecipeError if there is no such recipe."""
    path, known = Path(recipe), shipped()
    if path.suffix == ".toml":
        return path
    if recipe not in known:
        near = get_close_matches(recipe, known, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        names = ", ".join(sorted(known))
        raise RecipeError(f"no recipe called {recipe!r}{hint}; shipped: {names}; or give the path of a .toml file")
    return known[recipe]
