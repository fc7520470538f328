"""Training from inputs to a checkpoint. One process, torchrun and Ray Train call the same function."""

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from layoutray import checkpoint, devices
from layoutray.batching.examples import Example
from layoutray.checkpoint import Checkpoint
from layoutray.store import json_text, shards, sources
from layoutray.tasks import TagsWords, TaskModel, WritesTexts
from layoutray.tensors import BOX_GRID
from layoutray.tokenizer import Tokenizer
from layoutray.training import job as jobs
from layoutray.training import resume
from layoutray.training.feed import recipe_feed
from layoutray.training.inputs import TrainingInputs
from layoutray.training.loop import Loop
from layoutray.training.reporter import CompositeReporter, Reporter
from layoutray.training.resume import TrainingProgress
from layoutray.training.world import World

_STATE = "state"
"""Folder in the checkpoint folder where `train_in_place` keeps the resumable state while it runs."""
_VOCABULARY = 256
"""Words of the vocabulary among which the example of a checkpoint may choose, spread over all of it."""


def train(
    inputs: TrainingInputs, world: World, reporter: Reporter, state: Path, resume_from: Path | None = None
) -> TrainingProgress:
    """Train on this worker to the end of the job; the checkpoint folder is then complete.

    Args:
        inputs: prepared by this process.
        state: folder for the resumable state; written by rank 0.
        resume_from: a state to resume from, the same on every worker; None starts at step 0.

    Raises:
        InputError: if there are no training examples.
        TrainingError: as `Loop.run`.
    """
    job = inputs.job
    if world.device == devices.CPU:
        devices.keep_freed_memory()
    if world.leads:
        jobs.write_identity(job)
        shards.remove_half_written(str(job.out))
    recipe = job.recipe
    dev = None
    if len(inputs.dev):
        dev = recipe_feed(recipe, inputs.tokenizer, inputs.dev, evaluated=recipe.train.dev_examples)
    loop = Loop(
        model=inputs.model,
        task=recipe.task,
        labels=inputs.card.labels,
        layers=recipe.arch_config.layers,
        new=tuple(f"encoder.{name}" for name in inputs.checked.fresh),
        train=recipe_feed(recipe, inputs.tokenizer, inputs.train),
        dev=dev,
        settings=recipe.train,
        world=world,
        reporter=reporter,
        state=state,
    )

    def keep_best(model: TaskModel, metrics: Mapping[str, float], temperature: float) -> None:
        made = Checkpoint(
            recipe=recipe,
            labels=inputs.card.labels,
            tokenizer=inputs.tokenizer,
            model=model,
            metrics=dict(metrics),
            provenance=inputs.provenance,
            temperature=temperature,
        )
        checkpoint.save(job.out, made)

    progress = loop.run(resume_from, keep_best)
    if world.leads:
        if dev is None:  # nothing was evaluated, so the last model is kept
            with loop.kept_weights():
                keep_best(inputs.model, {"step": float(progress.step)}, 1.0)
        if isinstance(recipe.task, TagsWords | WritesTexts):  # it answers documents
            body = _request_like(inputs.train.take([0])[0], inputs.tokenizer)
            shards.write_bytes(json_text.dumps(body).encode(), str(job.out), checkpoint.EXAMPLE)
        shards.write_bytes(json_text.dumps(asdict(progress)).encode(), str(job.out), jobs.FINISHED)
    return progress


def _request_like(example: Example, tokenizer: Tokenizer) -> dict[str, object]:
    """The example of a checkpoint: a request to `/v1/extract` that a model answers before it is served.

    It has one page with as many words as the example, at their places. The words are those of the vocabulary that are
    one token each (`1` if there are none): no text of a document is in it.
    """
    first: dict[int, Sequence[int]] = {}
    for word, box in zip(example.word_index.tolist(), example.boxes.tolist(), strict=True):
        if word >= 0:
            first.setdefault(word, box)
    step = max(1, tokenizer.vocab_size // _VOCABULARY)
    texts = (tokenizer.ids_to_text([token]).strip() for token in range(0, tokenizer.vocab_size, step))
    known = [text for text in texts if text.isalnum()] or ["1"]
    width, height = example.page_size
    words = [
        {
            "text": text,
            "box": [x0 * width / BOX_GRID, y0 * height / BOX_GRID, x1 * width / BOX_GRID, y1 * height / BOX_GRID],
        }
        for (x0, y0, x1, y1), text in zip(first.values(), itertools.cycle(known), strict=False)
    ]
    return {"pages": [{"width": width, "height": height, "words": words}]}


def train_in_place(inputs: TrainingInputs, world: World, reporter: Reporter) -> TrainingProgress:
    """`train` with its state in the checkpoint folder: resumes an interrupted call, and removes the state at the end.

    Raises:
        InputError: as `train`.
    """
    kept = sources.join(inputs.job.out, _STATE)
    with tempfile.TemporaryDirectory() as scratch:
        last = Path(scratch, "last") if resume.exists(kept) else None
        if last:
            resume.copy(kept, last)
        # The state keeper comes last, so that the other reporters have written all earlier steps when a state is kept.
        composite = CompositeReporter([reporter, _StateKeeper(kept)])
        progress = train(inputs, world, composite, Path(scratch, "next"), last)
    if world.leads:
        sources.remove_folder(kept)
    return progress


@dataclass(frozen=True)
class _StateKeeper(Reporter):
    """Copies each state to `folder`, where the next call resumes from it."""

    folder: str

    def saved(self, step: int, folder: Path | None) -> None:
        if folder is not None:
            resume.copy(folder, self.folder)
