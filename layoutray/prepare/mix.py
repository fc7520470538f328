"""Which pages of several data sets make up a mix: stated shares of each, the same ones every time.

As the Skim-Attention paper's MIX is made of three data sets ("Skim-Attention", arXiv:2109.01078, section 4.1), but of any
number of them, in any shares, at any size. Pages keep the split of their data set.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from heapq import nsmallest

from layoutray.errors import InputError
from layoutray.prepare.encode import SPLITS
from layoutray.recipe import MixRecipe


def quotas(recipe: MixRecipe, available: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Pages to take of each data set and split.

    Args:
        available: pages by data set and split.

    Raises:
        InputError: when a data set has fewer pages than its share of the size that the recipe states, or each split lacks one of them.
    """
    taken: dict[str, dict[str, int]] = {name: {} for name in recipe.shares}
    for split in SPLITS:
        possible = min(
            math.floor(available[name].get(split, 0) / share + 1e-9) for name, share in recipe.shares.items()
        )
        size = getattr(recipe, split) or possible
        for name, count in _parts(recipe.shares, size).items():
            if count > available[name].get(split, 0):
                raise InputError(
                    f"{name} has {available[name].get(split, 0)} pages for {split}, its share of {size} are {count}; "
                    f"with these shares {split} can have {possible} pages"
                )
            taken[name][split] = count
    if not any(count for of in taken.values() for count in of.values()):
        lacking = {split: [name for name in recipe.shares if not available[name].get(split)] for split in SPLITS}
        raise InputError(
            "nothing can be taken: "
            + ", ".join(f"{split} has no page of {' and '.join(names)}" for split, names in lacking.items() if names)
            + "; leave these data sets out, or ingest them with other splits"
        )
    return taken


def rank(page_id: str, seed: int) -> int:
    """Where a page stands in the queue of its data set: a number below 2⁶³ that depends on nothing but the two."""
    return int.from_bytes(hashlib.sha256(f"mix {seed} {page_id}".encode()).digest()[:8], "big") >> 1


def last_rank(ranks: Iterable[int], count: int) -> int:
    """The rank of the last page that is taken when `count` are; -1 when none is."""
    return nsmallest(count, ranks)[-1] if count else -1


def _parts(shares: Mapping[str, float], size: int) -> dict[str, int]:
    """`size` cut by `shares`, by largest remainders, so that the parts sum up to it."""
    exact = {name: share * size for name, share in shares.items()}
    parts = {name: math.floor(part + 1e-9) for name, part in exact.items()}
    left = size - sum(parts.values())
    for name in sorted(exact, key=lambda name: (parts[name] - exact[name], name))[:left]:
        parts[name] += 1
    return parts
