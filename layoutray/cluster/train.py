"""Training on Ray Train: starts the workers, keeps states, recovers from lost workers."""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray.train
import torch
from ray.train import (
    Checkpoint,
    CheckpointConsistencyMode,
    CheckpointUploadMode,
    FailureConfig,
    RunConfig,
    ScalingConfig,
)
from ray.train.torch import TorchConfig, TorchTrainer

from layoutray.cluster import gpus
from layoutray.cluster.meters import TrainingMeter
from layoutray.cluster.placement import TrainingResources
from layoutray.cluster.relay import relayed
from layoutray.errors import InputError, TrainingError
from layoutray.store import sources
from layoutray.training import train as training
from layoutray.training import world as worlds
from layoutray.training.feed import check_share
from layoutray.training.inputs import CheckedJob, prepare
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter, Reporter

_UPLOAD_PATIENCE = 600.0
"""Seconds that a training which has diverged waits for the upload of its last state."""
_STATES = "ray"
"""Folder in the checkpoint folder where Ray keeps states; a rerun of an unfinished job resumes from the last."""


@dataclass(frozen=True, kw_only=True)
class Workers(TrainingResources):
    """How many processes train, and what each may use.

    Attributes:
        least: minimum number of workers to continue with after nodes are lost, until others join (Ray looks once a
            minute); 0 waits until all are back.
    """

    count: int = 2
    least: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.least <= self.count:
            raise InputError(
                f"the minimum number of workers is {self.least}; it must be from 0 to their number, {self.count}"
            )


def train(
    checked: CheckedJob, workers: Workers, reporters: Callable[[], Sequence[Reporter]], watching: Reporter
) -> dict[str, Any]:
    """Train a job on the connected cluster; the checkpoint is then in its folder.

    Args:
        reporters: called on rank 0; must be picklable: a module's function or a `partial` of one.
        watching: receives the reports of rank 0 in this process, with a short delay.

    Returns:
        The progress at the end: `step`, `best`, `best_step`, `worse`.

    Raises:
        InputError: if a step has fewer micro-batches than workers; raised before any worker starts.
        ray.train.TrainingFailedError: if workers failed more than `workers.max_failures` times, or with our own error.
    """
    job = checked.job
    check_share(job.recipe.train.batch_size, job.recipe.train.micro_batch_size, workers.count)
    logging.getLogger("ray.train").setLevel(logging.WARNING)
    num_gpus = gpus.of_each(workers.count, workers.gpus)
    with relayed({"": watching}) as relay:
        config = {"job": job, "threads": workers.num_threads, "reporters": reporters, "relay": relay("")}
        trainer = TorchTrainer(
            _work,
            train_loop_config=config,
            torch_config=TorchConfig(backend="nccl" if num_gpus else "gloo"),
            scaling_config=ScalingConfig(
                num_workers=(workers.least, workers.count) if workers.least else workers.count,
                use_gpu=num_gpus > 0,
                resources_per_worker={"CPU": workers.cpus} | ({"GPU": num_gpus} if num_gpus else {}),
                # GPUs communicate fastest within a machine; CPU workers on one machine compete for its cores.
                placement_strategy="PACK" if num_gpus else "SPREAD",
            ),
            run_config=RunConfig(
                name=_STATES,
                storage_path=sources.absolute(str(job.out)),
                failure_config=FailureConfig(max_failures=workers.max_failures),
                checkpoint_config=ray.train.CheckpointConfig(num_to_keep=2),
            ),
        )
        result = trainer.fit()
    sources.remove_folder(sources.join(job.out, _STATES))
    return dict(result.return_value or {})


class StateReporter(Reporter):
    """Hands states to Ray Train, which uploads them to its storage in a thread. Every worker reports, as Ray expects.

    At the end of the training, Ray waits for all uploads.
    """

    def saved(self, step: int, folder: Path | None) -> None:
        state = None
        if folder is not None:
            # Links to the files, whose names the next state replaces; Ray removes the folder of links when done.
            linked = shutil.copytree(folder, tempfile.mkdtemp(), copy_function=os.link, dirs_exist_ok=True)
            state = Checkpoint.from_directory(str(linked))
        ray.train.report({"step": step}, checkpoint=state, checkpoint_upload_mode=CheckpointUploadMode.ASYNC)


def _work(config: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(config["threads"])
    device = gpus.assigned_device()
    world = worlds.joined(device) if ray.train.get_context().get_world_size() > 1 else worlds.single_process(device)
    job: Job = config["job"]
    of_rank_0 = [*config["reporters"](), config["relay"], TrainingMeter(job.recipe.name)] if world.leads else []
    reporter = CompositeReporter([*of_rank_0, StateReporter()])
    inputs = prepare(job, world.size)
    last = ray.train.get_checkpoint()
    with tempfile.TemporaryDirectory() as state:
        try:
            with last.as_directory() if last else nullcontext() as folder:
                progress = training.train(inputs, world, reporter, Path(state), Path(folder) if folder else None)
        except TrainingError:
            # It names the last state as kept, and Ray gives up the uploads of a worker that has failed.
            ray.train.get_all_reported_checkpoints(CheckpointConsistencyMode.COMMITTED, timeout_s=_UPLOAD_PATIENCE)
            raise
    return vars(progress)
