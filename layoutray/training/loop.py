"""The training loop: steps, evaluation on dev, early stopping, saving."""

import contextlib
import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from layoutray import checkpoint, devices
from layoutray.batching.collate import IGNORED
from layoutray.errors import TrainingError
from layoutray.nn.dropout import use_fast_dropout
from layoutray.recipe.train_section import TrainRecipe
from layoutray.tasks import TagsWords, Task, TaskModel
from layoutray.tasks.model import FittedHead
from layoutray.tensors import Scheduled
from layoutray.training import resume
from layoutray.training.feed import Feed, MicroBatch
from layoutray.training.flops import ModelFlops, Work, peak
from layoutray.training.layers import checkpoint_activations, compile_layers
from layoutray.training.optimizer import adamw, clip_and_step, set_rate
from layoutray.training.prefetch import prefetched
from layoutray.training.reporter import Reporter
from layoutray.training.resume import TrainingProgress
from layoutray.training.world import World

_DIVERGED = "lower train.learning_rate, set train.clip, or use train.precision = 'fp32', with another --out"

KeepBest = Callable[[TaskModel, Mapping[str, float], float], None]
"""Called on rank 0 with the model, the metrics of an evaluation better than all before, and the fitted temperature."""


class Steps(NamedTuple):
    """Some training steps: mean loss and norm of the gradient before clipping of each, and the work of all workers."""

    losses: Sequence[float]
    norms: Sequence[float]
    work: Work


@dataclass
class Tally:
    """Collects the steps of one worker since the last report. They stay on the device: reading waits for it."""

    world: World
    _rows: list[Float[Tensor, "5"]] = field(default_factory=list["Float[Tensor, '5']"])

    def add(self, loss: Float[Tensor, ""], norm: Float[Tensor, ""], work: Float[Tensor, "3"]) -> None:
        """Add a step: the summed loss of this worker's targets, the gradient's norm and the `Work` of all workers."""
        self._rows.append(torch.cat([torch.stack([loss, norm]).double(), work]))

    def take(self) -> Steps:
        """The steps since the last call, of which there is at least one. Waits for the device and for all workers."""
        own, norms, *work = torch.stack(self._rows).T.tolist()
        self._rows.clear()
        # All workers have the same norms; their mean is the same on all of them even if one has computed another.
        summed = self.world.sum(*own, *norms)
        losses = [loss / max(targets, 1.0) for loss, targets in zip(summed[: len(own)], work[1], strict=True)]
        return Steps(losses, [norm / self.world.size for norm in summed[len(own) :]], Work(*map(sum, work)))


@dataclass(kw_only=True)
class Loop:
    """One training run on one worker.

    Attributes:
        labels: names of the outputs, in order; empty for tasks without labels.
        layers: number of the encoder's layers with attention.
        new: names of the parameters that no starting checkpoint gave.
        train, dev: the batches of these splits; None if dev is empty.
        state: folder of the resumable state; written by rank 0, read by all.
    """

    model: TaskModel
    task: Task
    labels: tuple[str, ...]
    layers: int
    new: tuple[str, ...]
    train: Feed
    dev: Feed | None
    settings: TrainRecipe
    world: World
    reporter: Reporter
    state: Path

    def __post_init__(self) -> None:
        if self.settings.dropout == "fast":
            use_fast_dropout(self.model)
        if self.settings.compile:
            compile_layers(self.model, self.world.device)
        if self.settings.activation_checkpointing:
            checkpoint_activations(self.model)
        self._wrapped = self.world.wrap(self.model)
        fast = self.settings.precision == "auto" and devices.multiplies_bf16(self.world.device)
        self._in_bf16 = fast or self.settings.precision == "bf16"
        share = self.settings.start_share
        self._first = [parameter.detach().clone() for parameter in self.model.parameters()] if share else []
        self._optimizer = adamw(self.model, self.settings, self.new)
        self._flops = ModelFlops.of(self.model, self.layers)
        self._peak = peak(self.world.device) if self.world.leads else None
        self._tally = Tally(self.world)
        self._kept: TrainingProgress | None = None  # of the last good state, of this run or of the one that it resumes
        self.progress = TrainingProgress()

    def run(self, resume_from: Path | None, keep_best: KeepBest) -> TrainingProgress:
        """Train from the state in `resume_from` (None: step 0) to the last step, or until `patience` is exhausted.

        Raises:
            TrainingError: on every worker, when loss or gradient of a step or a weight is not finite, or the objective
                is not finite in any evaluation. No state and no checkpoint with such a value is written.
        """
        if resume_from is not None:
            self.progress = resume.load(resume_from, self.model, self._optimizer)
            self._kept = replace(self.progress)
        if self.world.leads:
            self.reporter.start(self.progress.step, self.settings.steps)
        if isinstance(head := self.model.head, FittedHead) and self.progress.step < self.settings.steps:
            self._fit(head)
        self._evaluate_if_due(keep_best)  # the state may have been saved before its evaluation
        with contextlib.closing(self._batches()) as batches:
            patience = self.settings.patience or math.inf
            while self.progress.step < self.settings.steps and self.progress.worse < patience:
                self._steps_to_report(batches)
                if self._due(self.settings.checkpoint_every):
                    self._save()
                self._evaluate_if_due(keep_best)
        if self._kept != self.progress:  # evaluated since then, or stopped between two saves
            self._save()
        if self.dev is not None and self.progress.best is None:
            name = self.task.objective[0]
            raise TrainingError(f"dev.{name} was not finite in any evaluation, so no checkpoint was kept; {_DIVERGED}")
        return self.progress

    def _fit(self, head: FittedHead) -> None:
        """Fit the head to the states of all training examples, in place of all steps. Workers share the examples."""
        found: list[tuple[Tensor, Tensor]] = []
        self.model.eval()
        with torch.no_grad():
            for part in self.train.evaluation(self.world.rank, self.world.size):
                batch = part.batch.to(self.world.device)
                assert batch.labels is not None, "fitting needs examples with labels"
                targets = batch.labels.amax(1)  # all tokens but one are ignored
                features = head.features(self.model.encoded(batch)).float()
                found.append((features[targets != IGNORED].cpu(), targets[targets != IGNORED].cpu()))
        gathered = self.world.gather(found)

        def fitted() -> tuple[float, dict[str, Tensor]]:
            features, targets = (torch.cat(parts) for parts in zip(*gathered, strict=True))
            loss = head.fit(features, targets)
            return loss, {name: tensor.cpu() for name, tensor in self.model.head.state_dict().items()}

        loss, weights = self.world.from_leader(fitted)
        self.model.head.load_state_dict(weights)
        self.progress.step = self.settings.steps
        self._report({"loss": loss})

    def _batches(self) -> Generator[list[MicroBatch]]:
        """This worker's micro-batches of each step that is left."""

        def make(step: int) -> list[MicroBatch]:
            parts = self.train.training(step, self.world.rank, self.world.size)
            is_on_gpu = self.world.device.type == "cuda"
            return [replace(part, batch=part.batch.pinned()) for part in parts] if is_on_gpu else parts

        return prefetched(make, range(self.progress.step, self.settings.steps))

    def _steps_to_report(self, batches: Iterator[list[MicroBatch]]) -> None:
        """Train until a report is due, at the latest before the next save or evaluation: neither may see a NaN."""
        settings, started = self.settings, time.perf_counter()
        for parts in batches:
            self._step(parts)
            self.progress.step += 1
            if any(map(self._due, (settings.report_every, settings.checkpoint_every, settings.evaluate_every))):
                break
        steps = self._tally.take()
        seconds = time.perf_counter() - started
        pairs = [*zip(steps.losses, steps.norms, strict=True)]
        for step, (loss, norm) in enumerate(pairs, self.progress.step + 1 - len(pairs)):
            if not (math.isfinite(loss) and math.isfinite(norm)):  # such a step has changed no weight
                raise self._error(f"the loss of step {step} is {loss:.6g}, the norm of its gradient {norm:.6g}")
        values = {
            "loss": math.fsum(steps.losses) / len(steps.losses),
            "grad_norm": max(steps.norms),
            "learning_rate": float(self._optimizer.param_groups[0]["lr"]),
            "tokens_per_second": steps.work.tokens / seconds,  # of all workers
        }
        if self._peak:
            values["mfu"] = self._flops(steps.work) / seconds / (self._peak * self.world.size)
        self._report(values)

    def _check_tensors(self, what: str, tensors: Callable[[], Mapping[str, Tensor]]) -> None:
        """Raise TrainingError on every worker if a tensor of rank 0 is not finite, before it is written."""
        if names := self.world.from_leader(lambda: resume.not_finite(tensors())):
            listed = checkpoint.listed(names)
            raise self._error(f"the {what} of step {self.progress.step} is not written: not finite are {listed}")

    def _error(self, found: str) -> TrainingError:
        if self._kept is None:
            return TrainingError(f"{found}; no state was saved before; {_DIVERGED}")
        kept = f"the state of step {self._kept.step} is kept, and the same command continues from it"
        return TrainingError(f"{found}; {kept}; if it fails again, {_DIVERGED}")

    def _step(self, parts: Sequence[MicroBatch]) -> None:
        """One step of the optimiser. Its loss and the norm of its gradient stay on the device."""
        step = self.progress.step
        work = self.world.sum_on_device(*map(sum, zip(*(part.work for part in parts), strict=True)))
        _, targets, _ = work
        # DDP averages over workers; multiplying by their number gives the sum that one process would have.
        scale = (self.world.size / targets.clamp(min=1)).float()
        set_rate(self._optimizer, step, self.settings)
        if isinstance(self.model.encoder, Scheduled):
            self.model.encoder.set_progress(step / self.settings.steps)
        self._optimizer.zero_grad(set_to_none=True)
        self._wrapped.train()
        total = torch.zeros((), device=self.world.device)
        for number, part in enumerate(parts):
            # Gradients are averaged over workers once a step, in the backward pass of the last micro-batch.
            synchronisation = contextlib.nullcontext()
            if isinstance(self._wrapped, DistributedDataParallel) and number < len(parts) - 1:
                synchronisation = self._wrapped.no_sync()
            with synchronisation:
                torch.manual_seed(part.seed)
                with torch.autocast(self.world.device.type, torch.bfloat16, enabled=self._in_bf16):
                    loss = self._wrapped(part.batch.to(self.world.device))
                (loss * scale).backward()
            total += loss.detach()
        self._tally.add(total, clip_and_step(self.model, self._optimizer, self.settings.clip), work)

    def _evaluate_if_due(self, keep_best: KeepBest) -> None:
        step = self.progress.step
        if self.dev is not None and step != self.progress.evaluated and self._due(self.settings.evaluate_every):
            self.progress.evaluated = step
            with self.kept_weights():
                self._evaluate(self.dev, keep_best)

    @contextlib.contextmanager
    def kept_weights(self) -> Generator[None]:
        """Within it, the model has the weights that are evaluated and kept; see `TrainRecipe.start_share`."""
        parameters = [parameter.data for parameter in self.model.parameters()] if self._first else []
        learned = [parameter.clone() for parameter in parameters]
        for parameter, first in zip(parameters, self._first, strict=True):
            parameter.lerp_(first, self.settings.start_share)
        yield
        for parameter, values in zip(parameters, learned, strict=True):
            parameter.copy_(values)

    def _evaluate(self, dev: Feed, keep_best: KeepBest) -> None:
        task = self.task
        observations = observe(self.model, task, dev, self.world)
        values = self.world.from_leader(lambda: task.summarise(observations, self.labels))
        self._report({f"dev.{name}": value for name, value in values.items()})
        name, direction = task.objective
        value = values.get(name, 0.0)  # a dev split without entities has no F1
        best = self.progress.best
        is_better = best is None or (value < best if direction == "min" else value > best)
        if is_better and math.isfinite(value):
            self._check_tensors("checkpoint", lambda: checkpoint.unique_tensors(self.model))
            self.progress.best, self.progress.best_step, self.progress.worse = value, self.progress.step, 0
            if self.world.leads:
                metrics = {f"dev.{key}": number for key, number in values.items()} | {"step": float(self.progress.step)}
                temperature = task.temperature(observations) if isinstance(task, TagsWords) else 1.0
                keep_best(self.model, metrics, temperature)
        else:
            self.progress.worse += 1

    def _save(self) -> None:
        self._check_tensors("state", lambda: resume.tensors(self.model, self._optimizer))
        if self.world.leads:
            resume.save(self.state, self.model, self._optimizer, self.progress)
        self._kept = replace(self.progress)
        self.reporter.saved(self.progress.step, self.state if self.world.leads else None)

    def _due(self, every: int) -> bool:
        """Whether the current step is the last or a multiple of `every`; 0 means only the last."""
        step = self.progress.step
        return step == self.settings.steps or (every > 0 and step % every == 0)

    def _report(self, values: Mapping[str, float]) -> None:
        if self.world.leads:
            self.reporter.metrics(self.progress.step, values)


@torch.no_grad()
def observe(model: TaskModel, task: Task, feed: Feed, world: World) -> list[Any]:
    """What `task` observes on all examples of `feed`. Workers share the examples; rank 0 gets all observations."""
    model.eval()
    observations: list[Any] = []
    for part in feed.evaluation(world.rank, world.size):
        observations += task.observe(model, part.batch.to(world.device), part.examples)
    return world.gather(observations)
