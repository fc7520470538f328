"""Ray Train around `training.job.train`: starts the workers, keeps states, recovers from a lost worker."""

import logging
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray.train
import torch
from ray.train import Checkpoint, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

from layoutray.cluster.meters import TrainingMeter
from layoutray.cluster.relay import relay_to
from layoutray.errors import InputError
from layoutray.store import sources
from layoutray.training import job as jobs
from layoutray.training import world as worlds
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter, Reporter

_STATES = "ray"
"""Folder inside the checkpoint folder where Ray keeps states; a rerun of an unfinished job goes on from the last."""


@dataclass(frozen=True)
class Workers:
    """How many processes train, and what each may use.

    Attributes:
        least: with how many training goes on where nodes were lost, until others come (Ray looks once a minute); 0 waits for all.
        cpus: logical CPUs of each worker; a fraction leaves room for Ray's own tasks on a small machine.
        threads: of PyTorch in each worker.
        max_failures: lost workers that are recovered from before the run fails.
    """

    count: int = 2
    least: int = 0
    cpus: float = 0.5
    gpus: int = 0
    threads: int = 1
    max_failures: int = 3

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.count:
            raise InputError(
                f"the least number of workers is {self.least}; it must be from 0 to their number, which is {self.count}"
            )


def train(
    job: Job, workers: Workers, reporters: Callable[[], Sequence[Reporter]], watching: Reporter
) -> dict[str, Any]:
    """Train `job` on the connected cluster; the checkpoint is then in `job.out`.

    Args:
        reporters: called on the leading worker; has to travel there, so it is a module's function or a `partial` of one.
        watching: hears in this process, a moment later, what the leading worker reports.

    Returns:
        The progress at the end: `step`, `best`, `best_step`, `worse`.

    Raises:
        InputError: when data, recipe and starting checkpoints do not fit together, or so many workers cannot share a step;
            before any worker starts.
        ray.train.TrainingFailedError: when a worker failed more than `workers.max_failures` times, or by an error of ours.
    """
    jobs.rehearse(job, workers.count)
    logging.getLogger("ray.train").setLevel(logging.WARNING)
    with relay_to(watching) as relay:
        progress = _fit(job, workers, {"job": job, "threads": workers.threads, "reporters": reporters, "relay": relay})
    sources.remove_folder(sources.join(job.out, _STATES))
    return progress


def _fit(job: Job, workers: Workers, config: dict[str, Any]) -> dict[str, Any]:
    trainer = TorchTrainer(
        _work,
        train_loop_config=config,
        torch_config=TorchConfig(backend="nccl" if workers.gpus else "gloo"),
        scaling_config=ScalingConfig(
            num_workers=(workers.least, workers.count) if workers.least else workers.count,
            use_gpu=workers.gpus > 0,
            resources_per_worker={"CPU": workers.cpus} | ({"GPU": workers.gpus} if workers.gpus else {}),
            # GPUs of one machine talk fastest; processors of one machine are shared.
            placement_strategy="PACK" if workers.gpus else "SPREAD",
        ),
        run_config=RunConfig(
            name=_STATES,
            storage_path=sources.absolute(str(job.out)),
            failure_config=FailureConfig(max_failures=workers.max_failures),
            checkpoint_config=ray.train.CheckpointConfig(num_to_keep=2),
        ),
    )
    result = trainer.fit()
    return dict(result.return_value or {})


class _StateReporter:
    """Hands states to Ray Train, which copies them to its storage. Every worker has to call it: it is a barrier."""

    def start(self, step: int, steps: int) -> None:
        """Ray knows that training starts."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Metrics go to the other reporters: Ray would tie them to states."""

    def saved(self, step: int, folder: Path | None, values: Mapping[str, float]) -> None:
        state = Checkpoint.from_directory(str(folder)) if folder is not None else None
        ray.train.report({"step": step}, checkpoint=state)


def _work(config: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(config["threads"])
    world = worlds.joined() if ray.train.get_context().get_world_size() > 1 else worlds.single_process()
    leading = [*config["reporters"](), config["relay"], TrainingMeter(config["job"].recipe.name)] if world.leads else []
    together = CompositeReporter([*leading, _StateReporter()])
    last = ray.train.get_checkpoint()
    with tempfile.TemporaryDirectory() as state:
        if last is None:
            progress = jobs.train(config["job"], world, together, Path(state))
        else:
            with last.as_directory() as folder:
                progress = jobs.train(config["job"], world, together, Path(state), resume_from=Path(folder))
    return vars(progress)
