"""One training run: from a data set of examples and a recipe to a checkpoint. The same function everywhere."""

import importlib.metadata
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from layoutray import checkpoint
from layoutray import recipe as recipes
from layoutray.batching.examples import ExampleSet
from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError, InputError, RecipeError
from layoutray.recipe import Recipe
from layoutray.store import json_text, shards, sources
from layoutray.store.card import Card
from layoutray.store.schema import EXAMPLES
from layoutray.tasks import TaskModel
from layoutray.tokenizer import Tokenizer
from layoutray.training import resume
from layoutray.training.feed import Feed, check_share
from layoutray.training.loop import Loop
from layoutray.training.reporter import CompositeReporter, Reporter
from layoutray.training.resume import Progress
from layoutray.training.start import start_model
from layoutray.training.world import World

FINISHED = "finished.json"
"""Written into the checkpoint folder when training has reached its end."""

JOB = "job.json"
"""Written into the checkpoint folder when training starts: whose folder it is."""

_STATE = "state"
"""Folder inside the checkpoint folder where `train_in_place` keeps the state while it runs."""


@dataclass(frozen=True)
class Job:
    """What to train, from what, to where.

    Attributes:
        examples: folder of EXAMPLES with their vocabulary and card.
        out: checkpoint folder, on disks that all workers see or at an object store's address; the best model so far lies in it.
        init: checkpoints whose encoders, and decoders, the model starts from; none starts from scratch.
    """

    recipe: Recipe
    examples: str
    out: str | Path
    init: tuple[str, ...] = ()


def train(job: Job, world: World, reporter: Reporter, state: Path, resume_from: Path | None = None) -> Progress:
    """Run `job` on this worker to its end; the checkpoint in `job.out` is then complete.

    Args:
        state: folder for the resumable state; the leading worker writes it.
        resume_from: a state to go on from, the same on every worker; None starts at step 0.

    Raises:
        InputError: when data, recipe and starting checkpoints do not fit together.
    """
    card = _fitting_card(job, world.size)
    if world.leads:
        shards.write_bytes(json.dumps(_identity(job)).encode(), str(job.out), JOB)
        shards.remove_half_written(str(job.out))
    vocabulary = checkpoint.read_vocabulary(job.examples)
    model, fresh = _starting_model(job, vocabulary, card.labels)
    splits = read_splits(job.examples)
    keep = partial(
        _keep, job.out, Checkpoint(job.recipe, card.labels, vocabulary, model, {}, _provenance(job, card, fresh))
    )
    evaluation = feed(job.recipe, vocabulary, splits["dev"]) if len(splits["dev"]) else None
    loop = Loop(
        model,
        job.recipe.task,
        card.labels,
        feed(job.recipe, vocabulary, splits["train"]),
        evaluation,
        job.recipe.train,
        world,
        reporter,
        state,
    )
    progress = loop.run(resume_from, keep)
    if evaluation is None and world.leads:
        keep(model, {"step": float(progress.step)}, 1.0)
    if world.leads:
        shards.write_bytes(json_text.dumps(asdict(progress)).encode(), str(job.out), FINISHED)
    return progress


def train_in_place(job: Job, world: World, reporter: Reporter) -> Progress:
    """`train` with the state in `job.out`: goes on from what an interrupted call has left there, and leaves none at the end.

    Raises:
        InputError: as `train`.
    """
    kept = sources.join(job.out, _STATE)
    with tempfile.TemporaryDirectory() as scratch:
        last = Path(scratch, "last") if resume.exists(kept) else None
        if last:
            resume.copy(kept, last)
        # Last: the others have all reports of the steps before a state when it replaces the one of before.
        progress = train(job, world, CompositeReporter([reporter, _StateKeeper(kept)]), Path(scratch, "next"), last)
    if world.leads:
        sources.remove_folder(kept)
    return progress


@dataclass(frozen=True)
class _StateKeeper:
    """Copies states to where an interrupted training finds them."""

    folder: str

    def start(self, step: int, steps: int) -> None:
        """The state of `step` is there already."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """States have what training needs of them."""

    def saved(self, step: int, folder: Path | None, values: Mapping[str, float]) -> None:
        if folder is not None:
            resume.copy(folder, self.folder)


def rehearse(job: Job, workers: int) -> tuple[str, ...]:
    """Raise here what `train` would raise on each of `workers` before its first step.

    Returns:
        Names of the encoder's tensors that the starting checkpoints leave freshly drawn; empty without such checkpoints.

    Raises:
        InputError: as `train`.
    """
    card = _fitting_card(job, workers)
    _, fresh = _starting_model(job, checkpoint.read_vocabulary(job.examples), card.labels)
    return fresh


def finished(job: Job) -> bool:
    """Whether `job.out` holds the finished result of this very job.

    Raises:
        CheckpointError: when it holds another job, finished or not: other recipe, examples or starting checkpoints.
    """
    file = sources.join(job.out, JOB)
    if not sources.exists(file):
        return False
    if _as_of_now(json.loads(sources.read_bytes(file))) != _identity(job):
        raise CheckpointError(
            f"{job.out} holds the training of another recipe, other examples or another start; give another --out, or delete that folder"
        )
    return sources.exists(sources.join(job.out, FINISHED))


def best(job: Job) -> float:
    """The task's objective on dev at the best checkpoint of a finished job that has dev pages."""
    return float(json.loads(sources.read_bytes(sources.join(job.out, FINISHED)))["best"])


def feed(recipe: Recipe, vocabulary: Tokenizer, examples: ExampleSet) -> Feed:
    """The batches of `recipe` from `examples`."""
    return Feed(
        examples,
        recipe.task.corruption(vocabulary),
        vocabulary.pad_id,
        recipe.train.batch_size,
        recipe.train.micro_batch_size,
        recipe.seed,
        recipe.train.box_jitter,
    )


def read_splits(folder: str) -> dict[str, ExampleSet]:
    """The examples of each split, in an order that does not depend on how they are sharded."""
    return {split: ExampleSet(_examples(sources.join(folder, split))) for split in ("train", "dev", "test")}


def _examples(folder: str) -> pa.Table:
    # Beside the splits lie the dead letters, and a split without pages has no folder.
    table = shards.read(folder, EXAMPLES) if shards.shards(folder) else EXAMPLES.empty_table()
    return table.sort_by([("doc_id", "ascending"), ("page", "ascending"), ("window", "ascending")])


def _identity(job: Job) -> dict[str, Any]:
    return {"recipe": job.recipe.to_dict(), "examples_digest": Card.read(job.examples).digest, "init": list(job.init)}


def _as_of_now(identity: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `_identity` gave in this version or an earlier one: keys that recipes have got since then have their defaults."""
    try:
        return {**identity, "recipe": recipes.from_stored(identity.get("recipe", {})).to_dict()}
    except RecipeError:  # of keys that there are no more, or it is no recipe
        return identity


def _fitting_card(job: Job, workers: int) -> Card:
    card, recipe = Card.read(job.examples), job.recipe
    if card.task != recipe.task.name:
        raise InputError(
            f"{job.examples} was encoded for task {card.task}, the recipe trains {recipe.task.name}; encode again or use the other recipe"
        )
    if card.max_length > recipe.max_length:
        raise InputError(
            f"{job.examples} has windows of up to {card.max_length} tokens, the recipe allows {recipe.max_length}; "
            f"encode again with max_length={recipe.max_length}, or train with {card.max_length}"
        )
    check_share(recipe.train.batch_size, recipe.train.micro_batch_size, workers)
    return card


def _starting_model(job: Job, vocabulary: Tokenizer, labels: tuple[str, ...]) -> tuple[TaskModel, tuple[str, ...]]:
    """The model before the first step, and what `rehearse` returns."""
    model = checkpoint.build_model(job.recipe, vocabulary, labels)
    return model, start_model(model, job.recipe, vocabulary, job.init)


def _keep(
    out: str | Path, start: Checkpoint, model: TaskModel, metrics: Mapping[str, float], temperature: float
) -> None:
    checkpoint.save(out, replace(start, model=model, metrics=dict(metrics), temperature=temperature))


def _provenance(job: Job, card: Card, fresh: tuple[str, ...]) -> dict[str, Any]:
    return {
        "layoutray": importlib.metadata.version("layoutray"),
        "examples": job.examples,
        "examples_digest": card.digest,
        "pages_from": list(card.sources),
        "init": list(job.init),
        "fresh": list(fresh),
    }
