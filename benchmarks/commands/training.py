"""Training speed under Ray Train relative to torchrun: same job, same number of processes, one thread each."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from benchmarks.measure.launchers import STEP_TIMES, SpeedPair, StepTimer, compare, summary
from layoutray import tokenizer
from layoutray.cli.shared import terminal
from layoutray.cluster import train as on_ray
from layoutray.cluster.connect import connect
from layoutray.cluster.train import Workers
from layoutray.devices import visible_gpus
from layoutray.document.word_graph import MAX_NEIGHBOURS
from layoutray.errors import InputError
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.store import example_files, sources
from layoutray.store.card import Card
from layoutray.store.schema import EXAMPLES
from layoutray.training import world as worlds
from layoutray.training.inputs import check, prepare
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter, Reporter
from layoutray.training.train import train

_LENGTH = 128


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks training", description=__doc__)
    parser.add_argument(
        "--examples",
        help="folder that `layoutray encode` has written for masked_lm (default: random windows of 128 tokens)",
    )
    parser.add_argument("--workers", type=int, default=2, help="processes of each training (default: 2)")
    parser.add_argument("--steps", type=int, default=60, help="optimiser steps of each training, including the warm-up")
    parser.add_argument("--warmup", type=int, default=10, help="first steps, which are not measured")
    parser.add_argument("--repeats", type=int, default=3, help="trainings of each kind, in alternating order")
    options = parser.parse_args(arguments)
    if not 0 < options.warmup < options.steps:
        raise InputError(
            f"--warmup is {options.warmup}; it must be at least 1 and less than --steps, which is {options.steps}"
        )
    with tempfile.TemporaryDirectory() as folder, connect():
        masked_lm = _recipe(options.steps, options.workers)
        examples = (
            sources.absolute(options.examples)
            if options.examples
            else _random_examples(masked_lm, f"{folder}/examples")
        )
        job = Job(
            recipe=replace(masked_lm, max_length=Card.read(examples).max_length), examples=examples, out=Path(folder)
        )
        peer, ours = partial(_under_torchrun, job, options.workers), partial(_on_ray, job, options.workers)
        pairs: list[SpeedPair] = []
        for pair in compare(peer, ours, Path(folder), repeats=options.repeats, warmup=options.warmup):
            pairs.append(pair)
            terminal.say(
                f"torchrun {pair.peer.steps_per_second:.2f} steps/s, "
                f"Ray Train {pair.ours.steps_per_second:.2f} steps/s, ratio {pair.ratio:.3f}"
            )
    terminal.show_table(
        f"Ray Train relative to torchrun, {options.workers} processes",
        ("measure", "value"),
        list(summary(pairs).items()),
    )
    sys.stdout.write(json.dumps({"benchmark": "training", **summary(pairs)}) + "\n")
    return 0


def _recipe(steps: int, workers: int) -> Recipe:
    """Masked language modelling with the small Skimformer: four windows per worker and step, no evaluation."""
    return recipes.from_dict(
        {
            "name": "benchmark",
            "task": {"name": "masked_lm"},
            "train": {"steps": steps, "batch_size": 4 * workers, "micro_batch_size": 4},
            "model": {"arch": "skimformer", "size": "small", "max_length": 512},
            "max_length": _LENGTH,
        }
    )


def _random_examples(masked_lm: Recipe, out: str) -> str:
    """Write EXAMPLES of full windows with random tokens and boxes to `out`; returns `out`."""
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcdefghijklmnop"), random.integers(2, 9))) for _ in range(5000)]
    vocabulary = tokenizer.train_wordpiece(words, 4000)
    rows = [_row(number, random, vocabulary.vocab_size) for number in range(256)]
    folder = sources.join(out, "train")
    blocks = example_files.write_shard(pa.Table.from_pylist(rows, schema=EXAMPLES), folder, "part-0.arrow")
    example_files.write_index(blocks, folder)
    vocabulary.inner.save(f"{out}/tokenizer.json")
    Card(
        task=masked_lm.task.name,
        max_length=_LENGTH,
        labels=(),
        sources=(),
        pages={},
        examples={"train": len(rows)},
        dead=0,
        digest="random",
    ).write(out)
    return out


def _row(number: int, random: np.random.Generator, vocab_size: int) -> dict[str, Any]:
    corners = np.sort(random.integers(0, 1001, (_LENGTH, 2, 2)), axis=1)
    return {
        "doc_id": str(number),
        "page": 1,
        "window": 0,
        "split": "train",
        "input_ids": random.integers(len(tokenizer.SPECIAL_TOKENS), vocab_size, _LENGTH),
        "boxes": corners.reshape(_LENGTH, 4).tolist(),
        "word_index": np.arange(_LENGTH),
        "neighbours": [[-1] * MAX_NEIGHBOURS] * _LENGTH,
        "page_width": 1000,
        "page_height": 1000,
        "labels": None,
    }


def _on_ray(job: Job, workers: int, out: Path) -> None:
    on_ray.train(
        check(replace(job, out=out), workers), Workers(count=workers), partial(_step_timer, out), CompositeReporter([])
    )


def _step_timer(out: Path) -> Sequence[Reporter]:
    return [StepTimer(out / STEP_TIMES)]


def _under_torchrun(job: Job, workers: int, out: Path) -> None:
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={workers}",
        "-m",
        __name__,
    ]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([*launch, job.examples, str(out), json.dumps(job.recipe.to_dict())], check=True, env=one_thread)


def _plain_worker(examples: str, out: Path, values: str) -> None:
    """What torchrun runs in each process: the same training function, without Ray."""
    torch.set_num_threads(1)
    job = Job(recipe=recipes.from_dict(json.loads(values)), examples=examples, out=out)
    with worlds.from_environment(visible_gpus()) as world:
        reporter = CompositeReporter(_step_timer(out) if world.leads else [])
        train(prepare(job, world.size), world, reporter, out / "state")


if __name__ == "__main__":  # started by torchrun
    _plain_worker(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
