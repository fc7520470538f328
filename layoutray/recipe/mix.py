"""The mix recipe: how the pages of several data sets become one data set."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from layoutray import config
from layoutray.errors import RecipeError
from layoutray.recipe import files


@dataclass(frozen=True, slots=True, kw_only=True)
class MixRecipe:
    """How several PAGES data sets become one, as in the MIX of the Skim-Attention paper (section 4.1).

    docs/recipes.md explains the keys.
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


def load_mix(recipe: str, overrides: Sequence[str] = ()) -> MixRecipe:
    """The mix recipe in a TOML file, or the shipped one of that name. Raises RecipeError."""
    return config.build(MixRecipe, files.read(recipe, overrides))
