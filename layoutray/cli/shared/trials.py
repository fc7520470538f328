"""Trials: several trainings of a verb, planned, trained, resumed and tracked alike for `sweep` and others.

Each has a folder and, below the run of the whole, an MLflow run of its own.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from layoutray.cli.shared import step_time, terminal, tracked_training
from layoutray.cli.shared.progress import ProgressDisplay, of_trainings
from layoutray.cli.shared.trial_options import TrialJobOptions, TrialOptions
from layoutray.cluster.connect import connect, num_cores
from layoutray.cluster.relay import Relay, relayed
from layoutray.cluster.trials import Ended, run_each
from layoutray.errors import CheckpointError, LayoutrayError
from layoutray.recipe import recipes
from layoutray.store import shards, sources
from layoutray.store.card import Card
from layoutray.tracking import registered
from layoutray.tracking import training as tracking
from layoutray.tracking.runs import Run
from layoutray.training import inputs
from layoutray.training import job as jobs
from layoutray.training import world as worlds
from layoutray.training.inputs import CheckedJob
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter
from layoutray.training.train import train_in_place


@dataclass(frozen=True)
class Trial:
    """One training among several.

    Attributes:
        varied: the `key=value` assignments in which it differs from the others, for name and parameters of its run.
        close: closes its run at the end; a function of a module.
    """

    job: Job
    varied: tuple[str, ...]
    close: Callable[[Job, Run], None] = tracking.close_run

    @property
    def name(self) -> str:
        return " ".join([self.job.recipe.name, *self.varied])


@dataclass(frozen=True)
class Result:
    """How a trial ended.

    Attributes:
        metric: the task's objective on dev at the best checkpoint; None without dev examples, or if the trial failed or
            diverged, see `error`.
        seconds: duration of the training; None if it failed or was finished before.
        error: one line; empty if there is none.
    """

    trial: Trial
    metric: float | None
    seconds: float | None = None
    error: str = ""


def planned(chosen: TrialJobOptions, varied: Iterable[Sequence[str]]) -> list[Trial]:
    """A trial for each list of assignments, in a folder called like them. All recipes are resolved here."""
    named = tracked_training.starting_checkpoints(chosen.init, chosen.tracking_uri)
    examples, out = sources.absolute(chosen.examples), sources.absolute(chosen.out)
    fetch = registered.fetcher(chosen.tracking_uri)
    trials: list[Trial] = []
    for assignments in varied:
        recipe = recipes.load(chosen.recipe, [*chosen.overrides, *assignments])
        job = Job(
            recipe=recipe,
            examples=examples,
            out=sources.join(out, ",".join(assignments)),
            init=named if chosen.init else tracked_training.default_start(recipe, examples),
            fetch=fetch,
        )
        trials.append(Trial(job, tuple(assignments)))
    return trials


def show_plan(trials: Sequence[Trial], chosen: TrialJobOptions) -> int:
    """Write the plan of a dry run. Returns exit status 0."""
    first = trials[0].job
    plan = {"examples": first.examples, "init": chosen.init, **vars(chosen.share())}
    plan["checkpoints"] = [trial.job.out for trial in trials]
    if chosen.price:
        plan["estimate"] = step_time.estimate(first, len(trials), num_cores(), chosen.share().num_threads, chosen.price)
    return terminal.show_plan(first.recipe, plan)


def check(trials: Iterable[Trial]) -> dict[str, CheckedJob]:
    """The jobs that are not finished, by name of the trial.

    Raises:
        CheckpointError, InputError: if a job cannot be trained into its folder.
    """
    return {trial.name: inputs.check(trial.job, workers=1) for trial in trials if not jobs.finished(trial.job)}


def claim(out: str, identity: Mapping[str, object], kind: str) -> None:
    """Mark `out` as the folder of the trials with this identity, in the way of a training.

    Args:
        kind: names the trials in the error, for example "a sweep over another key".
    """
    file = sources.join(out, jobs.JOB)
    if sources.exists(file) and json.loads(sources.read_bytes(file)) != identity:
        raise CheckpointError(f"{out} holds another training, or {kind}; give another --out, or delete that folder")
    shards.write_bytes(json.dumps(identity).encode(), out, jobs.JOB)


def open_whole(trials: Sequence[Trial], chosen: TrialOptions, varied: Sequence[str]) -> Run:
    """The run of all trials, with the recipe of the first; `varied` names the keys that differ."""
    first = trials[0].job
    whole = replace(first, out=sources.absolute(chosen.out))
    return tracking.open_run(whole, Card.read(first.examples), tracked_training.tracking_of(chosen), varied)


def train(
    trials: Sequence[Trial], waiting: Mapping[str, CheckedJob], parent: Run, chosen: TrialOptions
) -> list[Result]:
    """Train the `waiting` ones, each in a run of its own. How every trial ended, in the order of `trials`."""
    opened, ended = dict[str, Run](), dict[str, Ended]()
    try:
        for trial in trials:
            if job := waiting.get(trial.name):
                tracked = tracked_training.tracking_of(chosen)
                opened[trial.name] = tracking.open_run(job.job, job.card, tracked, trial.varied, parent)
            else:
                tracked_training.close_finished(trial.job, chosen.tracking_uri, "")
        if waiting:
            tracked_training.describe_start(next(iter(waiting.values())))
            terminal.say(f"{len(opened)} trials; MLflow shows their progress in run {parent.run_id}")
            begun = {one.name: one for one in trials if one.name in waiting}
            steps = {name: trial.job.recipe.train.steps for name, trial in begun.items()}
            with connect(), ProgressDisplay() as display, relayed(of_trainings(display, steps)) as relay:
                work = partial(_train, begun, opened, {name: relay(name) for name in begun})
                ended = run_each([*begun], work, chosen.share(), lambda name: terminal.say(f"{name} has ended"))
    except BaseException:
        for run in opened.values():
            if not run.finished:
                run.finish("FAILED")
        raise
    results: list[Result] = []
    for trial in trials:
        one = ended.get(trial.name, Ended())
        if one.error:
            opened[trial.name].client.log_text(opened[trial.name].run_id, one.trace, "error.txt")
            opened[trial.name].finish("FAILED")
        results.append(Result(trial, None, error=one.error) if one.error else finished(trial, one.seconds))
    return results


def train_every(trials: Sequence[Trial], waiting: Mapping[str, CheckedJob], parent: Run, chosen: TrialOptions) -> None:
    """`train`. Raises LayoutrayError with the reasons if a training has failed; the others are finished then."""
    if failures := reasons(train(trials, waiting, parent, chosen)):
        raise LayoutrayError(f"trainings have failed; the same command trains only these again\n{failures}")


def reasons(results: Iterable[Result]) -> str:
    """Why trials have failed, a line for each; empty if none has."""
    return "\n".join(f"{one.trial.name}: {one.error}" for one in results if one.error)


def finished(trial: Trial, seconds: float | None = None) -> Result:
    metric = jobs.best_objective(trial.job)
    if metric is not None and not math.isfinite(metric):  # earlier versions have finished such trainings
        return Result(trial, None, seconds, f"{objective(trial)} is {metric}: the training has diverged")
    return Result(trial, metric, seconds)


def objective(trial: Trial) -> str:
    return f"dev.{trial.job.recipe.task.objective[0]}"


def _train(
    trials: Mapping[str, Trial],
    opened: Mapping[str, Run],
    relays: Mapping[str, Relay],
    name: str,
    device: torch.device,
) -> None:
    """The work of a trial's process."""
    trial, run = trials[name], opened[name]
    reporter = CompositeReporter([*tracking.reporters(trial.job, run), relays[name]])
    train_in_place(inputs.prepare(trial.job, workers=1), worlds.single_process(device), reporter)
    trial.close(trial.job, run)
