"""Select the pages of a mix: given shares of several data sets. The selection is deterministic.

Generalises the MIX data set of the Skim-Attention paper (arXiv:2109.01078, section 4.1), which takes pages of three
data sets, to any number of data sets, shares and sizes. Pages keep the split of their data set.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from heapq import nsmallest

from layoutray.errors import InputError
from layoutray.recipe.mix import MixRecipe
from layoutray.store.schema import SPLITS


def quotas(recipe: MixRecipe, available: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Number of pages to take of those that are `available`, by data set and split.

    Raises:
        InputError: if a data set has fewer pages than its share of the size in the recipe, or if no split has pages of
            every data set.
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
                    f"{name} has {available[name].get(split, 0)} pages in {split}, but its share of {size} is {count}; "
                    f"with these shares, {split} can have at most {possible} pages"
                )
            taken[name][split] = count
    if not any(count for counts in taken.values() for count in counts.values()):
        lacking = {split: [name for name in recipe.shares if not available[name].get(split)] for split in SPLITS}
        raise InputError(
            "the mix has no pages: "
            + ", ".join(f"{split} has no page of {' and '.join(names)}" for split, names in lacking.items() if names)
            + "; leave these data sets out, or ingest them with other splits"
        )
    return taken


def rank(page_id: str, seed: int) -> int:
    """Position of a page in the selection order of its data set: a hash of both arguments, below 2⁶³."""
    return int.from_bytes(hashlib.sha256(f"mix {seed} {page_id}".encode()).digest()[:8], "big") >> 1


def last_rank(ranks: Iterable[int], count: int) -> int:
    """Rank of the last selected page if `count` pages are selected; -1 if none is."""
    return nsmallest(count, ranks)[-1] if count else -1


def _parts(shares: Mapping[str, float], size: int) -> dict[str, int]:
    """`size` divided by `shares` with the largest-remainder method. The parts sum to `size`."""
    exact = {name: share * size for name, share in shares.items()}
    parts = {name: math.floor(part + 1e-9) for name, part in exact.items()}
    remaining = size - sum(parts.values())
    for name in sorted(exact, key=lambda name: (parts[name] - exact[name], name))[:remaining]:
        parts[name] += 1
    return parts
