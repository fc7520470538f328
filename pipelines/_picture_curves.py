"""A metric over steps, of several runs: those that differ in the seed alone are one curve, the mean with least and most.

The picture goes into the MLflow run of each checkpoint too.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

from layoutray import tracking
from layoutray.errors import InputError
from layoutray.report import curves, png
from layoutray.report.curves import Points
from layoutray.store import sources
from layoutray.training.reporter import HISTORY, read_history
from pipelines import _terminal as terminal


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray picture curves", description=__doc__)
    parser.add_argument(
        "checkpoints", nargs="+", help="checkpoint folders, or their s3:// addresses, with their history.jsonl"
    )
    parser.add_argument(
        "--metric", default="dev.perplexity", help="as in MLflow, such as loss or dev.f1 (default: dev.perplexity)"
    )
    parser.add_argument(
        "--tracking-uri", default=None, help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)"
    )
    terminal.add_picture_option(parser, "curves.png")
    options = parser.parse_args(arguments)
    runs = {folder: _points(folder, options.metric) for folder in options.checkpoints}
    logarithmic = options.metric.endswith("perplexity")
    picture = png.png(curves.seed_curves(_by_recipe(runs), options.metric, logarithmic=logarithmic))
    for folder in options.checkpoints:
        if run := tracking.noted(folder, options.tracking_uri or tracking.default_uri()):
            run.log_picture(options.out.stem, picture)
    return terminal.show_picture(picture, options.out)


def _points(folder: str, metric: str) -> Points:
    file = sources.join(folder, HISTORY)
    if not sources.exists(file):
        raise InputError(
            f"{folder} has no {HISTORY}; give folders that `layoutray pretrain` or `layoutray finetune` has written"
        )
    history = read_history(file)
    if metric not in history:
        raise InputError(f"{folder} has no metric {metric}; it has {', '.join(sorted(history))}")
    return history[metric]


def _by_recipe(runs: Mapping[str, Points]) -> dict[str, list[Points]]:
    """Runs by the name of their curve; those whose recipes differ in the seed alone have one."""
    alike: dict[str, list[str]] = defaultdict(list)
    for folder in runs:
        alike[_recipe_without_seed(folder)].append(folder)
    short = [_beginning([folder.rstrip("/").rpartition("/")[2] for folder in folders]) for folders in alike.values()]
    named = (
        short if all(short) and len(set(short)) == len(short) else [", ".join(folders) for folders in alike.values()]
    )
    return {name: [runs[folder] for folder in folders] for name, folders in zip(named, alike.values(), strict=True)}


def _beginning(names: Sequence[str]) -> str:
    """What all names begin with, without the mark before what differs: `bert` of bert-1 and bert-2."""
    first, last = min(names), max(names)
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:same].rstrip("-_.")


def _recipe_without_seed(folder: str) -> str:
    file = sources.join(folder, "recipe.json")
    if not sources.exists(file):
        raise InputError(f"{folder} has no recipe.json; wait until its training has saved a checkpoint")
    recipe = json.loads(sources.read_bytes(file))
    return json.dumps({key: value for key, value in recipe.items() if key != "seed"}, sort_keys=True)
