"""A training job: what to train, from which data, to which folder; and whether it is finished."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from layoutray.checkpoint import Fetch
from layoutray.errors import CheckpointError, RecipeError
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.store import shards, sources
from layoutray.store.card import Card

FINISHED = "finished.json"
"""File in the checkpoint folder. Written when training has reached its end; holds the last `TrainingProgress`."""

JOB = "job.json"
"""File in the checkpoint folder. Written when training starts; holds the identity of the job."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train, from which data, to which folder.

    Attributes:
        examples: folder of EXAMPLES with their vocabulary and card.
        out: checkpoint folder, on a disk that all workers share, or an s3:// address; holds the best model so far.
        init: checkpoints whose encoders, and decoders, the model starts from; empty trains from scratch.
        fetch: gives the folder of such a checkpoint in the process that reads it.
    """

    recipe: Recipe
    examples: str
    out: str | Path
    init: tuple[str, ...] = ()
    fetch: Fetch = field(default=str, compare=False)


def write_identity(job: Job) -> None:
    """Mark `job.out` as the folder of `job`."""
    shards.write_bytes(json.dumps(_identity(job)).encode(), str(job.out), JOB)


def finished(job: Job) -> bool:
    """Whether `job.out` holds the finished result of this very job.

    Raises:
        CheckpointError: if it holds another job, finished or not: other recipe, examples or starting checkpoints.
    """
    file = sources.join(job.out, JOB)
    if not sources.exists(file):
        return False
    if _with_defaults(json.loads(sources.read_bytes(file))) != _identity(job):
        raise CheckpointError(
            f"{job.out} holds a training of another recipe, other examples or another start; "
            "give another --out, or delete that folder"
        )
    return sources.exists(sources.join(job.out, FINISHED))


def best_objective(job: Job) -> float | None:
    """The task's objective on dev at the best checkpoint of a finished job; None without dev examples."""
    best = json.loads(sources.read_bytes(sources.join(job.out, FINISHED)))["best"]
    return None if best is None else float(best)


def _identity(job: Job) -> dict[str, Any]:
    return {"recipe": job.recipe.to_dict(), "examples_digest": Card.read(job.examples).digest, "init": list(job.init)}


def _with_defaults(identity: Mapping[str, Any]) -> Mapping[str, Any]:
    """`identity` as written by this or an earlier version; recipe keys added since then get their defaults."""
    try:
        return {**identity, "recipe": recipes.from_stored(identity.get("recipe", {})).to_dict()}
    except RecipeError:  # has keys that were removed, or is no recipe
        return identity
