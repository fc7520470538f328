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
    return config.override(config.read_toml(_find(recipe)), overrides)


def _find(recipe: str) -> Traversable:
    path = Path(recipe)
    if path.suffix == ".toml":
        return path
    shipped = {file.name: file for folder in (*registry.folders(_GROUP), RECIPES) for file in folder.iterdir()}
    if f"{recipe}.toml" not in shipped:
        known = sorted(name.removesuffix(".toml") for name in shipped if name.endswith(".toml"))
        near = get_close_matches(recipe, known, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise RecipeError(
            f"no recipe called {recipe!r}{hint}; shipped: {', '.join(known)}; or give the path of a .toml file"
        )
    return shipped[f"{recipe}.toml"]
