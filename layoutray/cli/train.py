"""`layoutray pretrain` and `layoutray finetune`: one training, in this process, under torchrun, or on Ray workers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from layoutray.cli.shared import checked, options
from layoutray.cli.shared.options import JobOptions, option
from layoutray.cli.verbs import needs_extra


@dataclass(frozen=True, kw_only=True)
class TrainOptions(JobOptions):
    """Options of `layoutray pretrain` and `layoutray finetune`; see `Workers`."""

    register: str = options.register()
    workers: int = option(
        "--workers",
        type=checked.whole,
        default=0,
        help="Ray Train workers; 0 trains in this process, or under torchrun (default: %(default)s)",
    )
    min_workers: int = option(
        "--min-workers",
        type=checked.whole,
        default=0,
        help="minimum number of workers to continue with after nodes are lost; 0 waits until all are back "
        "(default: %(default)s)",
    )


@dataclass(frozen=True)
class Trained:
    """A finished training.

    Attributes:
        checkpoint: its folder or address.
        metrics: those of the evaluation at which the model was saved; also `step`.
    """

    checkpoint: str
    metrics: Mapping[str, float]


def pretrain(arguments: Sequence[str] | None = None) -> int:
    return _main("pretrain", arguments)


def finetune(arguments: Sequence[str] | None = None) -> int:
    return _main("finetune", arguments)


@needs_extra("finetune")
def train(recipe: str, examples: str | Path, *, out: str | Path, **given: Any) -> Trained:
    """Train a model; an interrupted training resumes. `layoutray.pretrain` and `layoutray.finetune` are this function.

    Args:
        recipe: name of a shipped training recipe, or a .toml file.
        examples: folder that `encode` has written.
        out: folder (on a disk that all nodes share) or s3:// address for the checkpoint.
        given: other options of the verb, such as `init`, `workers`, `max_failures` and `register`; `overrides` is
            `--set`.

    Raises:
        RecipeError: if there is no such recipe, or a key has a value that is not allowed.
        InputError: if there is no such option, the examples do not fit the recipe, or there is no checkpoint of `init`.
        TrainingError: if the loss is not finite.
    """
    from layoutray.cli.shared import tracked_training
    from layoutray.store import sources

    parsed = options.given("finetune", [f"--out={out}", "--", recipe, str(examples)], TrainOptions)
    named = "".join(f", {name}={value!r}" for name, value in given.items())
    call = f"layoutray.finetune({recipe!r}, {str(examples)!r}, out={str(out)!r}{named})"
    chosen = replace(options.with_options(parsed, given), command=options.command_line(call, []))
    tracked_training.train(chosen)
    folder = sources.absolute(str(out))
    return Trained(folder, json.loads(sources.read_bytes(sources.join(folder, "metrics.json"))))


def _main(verb: str, arguments: Sequence[str] | None) -> int:
    chosen = options.given(verb, arguments, TrainOptions)
    # Imported here because Ray, PyTorch and MLflow take seconds, for which `--help` shall not wait.
    from layoutray.cli.shared import tracked_training

    if chosen.dry_run:
        return tracked_training.show_plan(chosen)
    tracked_training.train(chosen)
    return 0
