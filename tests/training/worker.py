"""A worker of a training in tests. torchrun starts it with the arguments EXAMPLES OUT RECIPE_JSON."""

import json
import sys
from pathlib import Path

import torch

from layoutray.devices import visible_gpus
from layoutray.recipe import recipes
from layoutray.training import world as worlds
from layoutray.training.inputs import prepare
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter, JsonLines
from layoutray.training.train import train


def work(examples: str, out: str, values: str) -> None:
    """Train with the workers that the environment variables of torchrun describe."""
    torch.set_num_threads(1)
    job = Job(recipe=recipes.from_dict(json.loads(values)), examples=examples, out=Path(out))
    job.out.mkdir(parents=True, exist_ok=True)
    with worlds.from_environment(visible_gpus()) as world:
        train(
            prepare(job, world.size),
            world,
            CompositeReporter([JsonLines(job.out / "history.jsonl")] if world.leads else []),
            job.out / "state",
        )


if __name__ == "__main__":
    work(*sys.argv[1:])
