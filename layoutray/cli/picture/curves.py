"""`layoutray picture curves`: a metric over training steps. Runs that differ only in the seed share a curve.

The curve is their mean; its band reaches from minimum to maximum. The picture is also logged to the MLflow run of each
checkpoint.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutray.cli.shared import options, terminal
from layoutray.errors import InputError
from layoutray.report import curves, png
from layoutray.report.curves import Points
from layoutray.store import sources
from layoutray.tracking import runs
from layoutray.training.reporter import HISTORY, read_history


@dataclass(frozen=True, kw_only=True)
class CurvesOptions:
    """Options of `layoutray picture curves`."""

    checkpoints: Sequence[str]
    metric: str
    tracking_uri: str
    out: Path


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("picture curves")
    parser.add_argument("checkpoints", nargs="+", help="checkpoint folders or s3:// addresses with their history.jsonl")
    parser.add_argument(
        "--metric",
        default="dev.perplexity",
        help="named as in history.jsonl, e.g. loss or dev.f1 (default: %(default)s)",
    )
    options.add_tracking_uri(parser)
    options.add_picture_file(parser, "curves.png")
    chosen = options.parse(parser, arguments, CurvesOptions)
    points = {folder: _points(folder, chosen.metric) for folder in chosen.checkpoints}
    logarithmic = chosen.metric.endswith("perplexity")
    picture = png.png(curves.seed_curves(_by_recipe(points), chosen.metric, logarithmic=logarithmic))
    for folder in chosen.checkpoints:
        if run := runs.noted(folder, chosen.tracking_uri):
            run.log_picture(chosen.out.stem, picture)
    return terminal.show_picture(picture, chosen.out)


def _points(folder: str, metric: str) -> Points:
    file = sources.join(folder, HISTORY)
    if not sources.exists(file):
        raise InputError(
            f"{folder} has no {HISTORY}; give folders written by `layoutray pretrain` or `layoutray finetune`"
        )
    history = read_history(file)
    if metric not in history:
        raise InputError(f"{folder} has no metric {metric}; it has {', '.join(sorted(history))}")
    return history[metric]


def _by_recipe(runs: Mapping[str, Points]) -> dict[str, list[Points]]:
    """The runs by the name of their curve. Runs whose recipes differ only in the seed share one."""
    groups: dict[str, list[str]] = defaultdict(list)
    for folder in runs:
        groups[_recipe_without_seed(folder)].append(folder)
    prefixes = [
        _common_prefix([folder.rstrip("/").rpartition("/")[2] for folder in folders]) for folders in groups.values()
    ]
    distinct = all(prefixes) and len(set(prefixes)) == len(prefixes)
    names = prefixes if distinct else [", ".join(folders) for folders in groups.values()]
    return {name: [runs[folder] for folder in folders] for name, folders in zip(names, groups.values(), strict=True)}


def _common_prefix(names: Sequence[str]) -> str:
    """The common prefix of all names without a trailing separator: `bert` for bert-1 and bert-2."""
    first, last = min(names), max(names)
    length = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:length].rstrip("-_.")


def _recipe_without_seed(folder: str) -> str:
    file = sources.join(folder, "recipe.json")
    if not sources.exists(file):
        raise InputError(f"{folder} has no recipe.json; wait until its training has saved a checkpoint")
    recipe = json.loads(sources.read_bytes(file))
    return json.dumps({key: value for key, value in recipe.items() if key != "seed"}, sort_keys=True)
