"""Several trainings as trials on Ray Tune, each in an MLflow run below that of the whole: for `sweep` and others."""

import argparse
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch

from layoutray.cli.shared import options, terminal, tracked_training
from layoutray.cli.shared.options import TrainingOptions
from layoutray.cluster import sweep
from layoutray.cluster.connect import connect
from layoutray.cluster.sweep import Share, Trial, Value
from layoutray.errors import CheckpointError, LayoutrayError
from layoutray.store import shards, sources
from layoutray.tracking.runs import Run
from layoutray.training import inputs
from layoutray.training import job as jobs
from layoutray.training import world as worlds
from layoutray.training.inputs import CheckedJob
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter
from layoutray.training.train import train_in_place


@dataclass(frozen=True, kw_only=True)
class TrialOptions(TrainingOptions):
    """Options of every verb that trains several models.

    Attributes:
        at_once: see `Share`.
    """

    at_once: int

    def share(self) -> Share:
        """The resources that the trials may use."""
        return Share(
            at_once=self.at_once, cpus=self.cpus, gpus=self.gpus, threads=self.threads, max_failures=self.max_failures
        )


@dataclass(frozen=True, kw_only=True)
class SeedOptions(TrialOptions):
    """Options of every verb that trains a recipe with several seeds."""

    seeds: Sequence[int]

    @property
    def distinct_seeds(self) -> tuple[int, ...]:
        """Each seed once."""
        return tuple(dict.fromkeys(self.seeds))


def add_trial_options(parser: argparse.ArgumentParser) -> None:
    """The fields of `TrialOptions`."""
    options.add_training_options(parser, "trial", cpus=Share.cpus, max_failures=Share.max_failures)
    parser.add_argument(
        "--at-once",
        type=int,
        default=0,
        help="concurrent trials; 0 is as many as the cores allow, or all if nodes may join the cluster "
        "(default: %(default)s)",
    )


def add_seeds(parser: argparse.ArgumentParser, help_text: str) -> None:
    """`--seeds`, which `SeedOptions` adds."""
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="SEED", help=f"{help_text} (default: 1 2 3)"
    )


@dataclass(frozen=True)
class Trials:
    """The jobs of several trainings, by the value that tells them apart.

    Attributes:
        varied: the `key=value` assignments in which each job differs from the others, for names and parameters of runs.
        waiting: the jobs that are not finished, checked.
    """

    jobs: Mapping[Value, Job]
    varied: Mapping[Value, Sequence[str]]
    waiting: Mapping[Value, CheckedJob]

    @classmethod
    def check(cls, planned: Mapping[Value, Job], varied: Mapping[Value, Sequence[str]]) -> "Trials":
        """Raises CheckpointError and InputError for a job that cannot be trained into its folder."""
        waiting = {value: inputs.check(job, workers=1) for value, job in planned.items() if not jobs.finished(job)}
        return cls(planned, varied, waiting)

    def name(self, value: Value) -> str:
        """The name of the trial's run."""
        return " ".join([self.jobs[value].recipe.name, *self.varied[value]])


def claim(out: str, identity: Mapping[str, object], kind: str) -> None:
    """Mark `out` as the folder of the trials with this identity, in the way of a training.

    Args:
        kind: names the trials in the error, for example "a sweep over another key".
    """
    file = sources.join(out, jobs.JOB)
    if sources.exists(file) and json.loads(sources.read_bytes(file)) != identity:
        raise CheckpointError(f"{out} holds another training, or {kind}; give another --out, or delete that folder")
    shards.write_bytes(json.dumps(identity).encode(), out, jobs.JOB)


@contextmanager
def closing(run: Run) -> Generator[Run]:
    """Close the run of the whole at the end of a block, as failed after an error."""
    try:
        yield run
    except BaseException:
        run.finish("FAILED")
        raise
    run.finish()


def train(trials: Trials, parent: Run, chosen: TrialOptions) -> list[Trial]:
    """Train the jobs that are not finished. How every job ended, in the order of training."""
    results: list[Trial] = []
    if trials.waiting:
        tracked_training.describe_start(next(iter(trials.waiting.values())))
        results = _train_waiting(trials, parent, chosen)
    for value, job in trials.jobs.items():
        if value not in trials.waiting:
            tracked_training.close_finished(job, chosen.tracking_uri, "")
            results.append(sweep.finished(value, job))
    return results


def train_every(trials: Trials, parent: Run, chosen: TrialOptions) -> None:
    """`train`. Raises LayoutrayError with the reasons if a training has failed; the others are finished then."""
    if failures := reasons(trials, train(trials, parent, chosen)):
        raise LayoutrayError(f"trainings have failed; the same command trains only these again\n{failures}")


def reasons(trials: Trials, results: Sequence[Trial]) -> str:
    """Why trials have failed, a line for each; empty if none has."""
    return "\n".join(f"{trials.name(trial.value)}: {trial.error}" for trial in results if trial.error)


def _train_waiting(trials: Trials, parent: Run, chosen: TrialOptions) -> list[Trial]:
    """Train each job in a run of its own, which the trial's process closes after success."""

    def ended(value: Value) -> None:
        terminal.say(f"{trials.name(value)} has ended")

    runs: dict[Value, Run] = {}
    try:
        for value, checked in trials.waiting.items():
            runs[value] = tracked_training.open_run(checked.job, checked.card, chosen, trials.varied[value], parent)
        terminal.say(f"{len(runs)} trials; MLflow shows their progress in run {parent.run_id}")
        work = partial(_trial, {value: checked.job for value, checked in trials.waiting.items()}, runs)
        with connect():
            trained = sweep.train(trials.waiting, chosen.out, chosen.share(), work, ended)
    except BaseException:
        for run in runs.values():
            if not run.finished:
                run.finish("FAILED")
        raise
    for trial in trained:
        if trial.trace:
            run = runs[trial.value]
            run.client.log_text(run.run_id, trial.trace, "error.txt")
            run.finish("FAILED")
    return trained


def _trial(waiting: Mapping[Value, Job], runs: Mapping[Value, Run], value: Value, device: torch.device) -> None:
    """The work of a trial's process."""
    job, run = waiting[value], runs[value]
    reporter = CompositeReporter(tracked_training.reporters(job, run))
    train_in_place(inputs.prepare(job, workers=1), worlds.single_process(device), reporter)
    tracked_training.close_run(job, run, "")
