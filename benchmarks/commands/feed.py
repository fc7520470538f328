"""What a training worker needs to read generated examples of any number, from disk and from an S3 server.

The server is on the loopback interface, so its times have no network in them.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure.environment import environment
from benchmarks.measure.feed import FeedCost, FeedRun, Speed, measure_feed, measure_training
from benchmarks.measure.generated_examples import generate
from benchmarks.measure.object_store import folder_store
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import parse
from layoutray.errors import InputError
from layoutray.store import node_cache

_STORES = ("disk", "S3")
_TRAINING_STEPS = 5


@dataclass(frozen=True, kw_only=True)
class FeedOptions:
    """Options of `feed`.

    Attributes:
        windows: numbers of examples.
        tokens: of the longest windows; the shortest have half as many.
        batch: windows of a step.
        steps: measured steps.
        recipes: pretraining recipes; each trains its model on the same windows for comparison.
        scratch: folder for the examples, which are deleted at the end.
    """

    windows: Sequence[int]
    tokens: int
    batch: int
    steps: int
    stores: Sequence[str]
    recipes: Sequence[str]
    scratch: Path | None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks feed", description=__doc__)
    parser.add_argument(
        "--windows", type=int, nargs="+", default=[10**5, 10**6], help="numbers of examples (default: 100000 1000000)"
    )
    parser.add_argument(
        "--tokens", type=int, default=32, help="tokens of the longest windows; the shortest have half as many"
    )
    parser.add_argument("--batch", type=int, default=64, help="windows of a step")
    parser.add_argument("--steps", type=int, default=500, help="measured steps")
    parser.add_argument("--stores", nargs="+", choices=_STORES, default=list(_STORES), help="default: both")
    parser.add_argument(
        "--recipes",
        nargs="+",
        default=["pretrain-tiny", "pretrain-skimformer"],
        help="pretraining recipes whose models are trained on the same windows",
    )
    parser.add_argument(
        "--scratch", type=Path, metavar="FOLDER", help="folder on the disk to read from (default: the temporary folder)"
    )
    options = parse(parser, arguments, FeedOptions)
    _check(options)
    return _run(options)


def _check(options: FeedOptions) -> None:
    for name, value, least in (
        ("windows", min(options.windows), 1),
        ("batch", options.batch, 1),
        ("steps", options.steps, 1),
        ("tokens", options.tokens, 4),
    ):
        if value < least:
            raise InputError(f"--{name} is {value}; it must be at least {least}")


def _run(options: FeedOptions) -> int:
    costs: list[tuple[str, FeedCost]] = []
    trainings: dict[str, Speed] = {}
    for windows in options.windows:
        with _examples(options, windows) as folder:
            for store in options.stores:
                costs.append((store, _feed_cost(folder, store, options)))
                terminal.say(f"{windows} windows, {store}: {costs[-1][1].speed.per_second:.0f} tokens/s")
            if not trainings:
                trainings = {
                    recipe: measure_training(str(folder), FeedRun(recipe, options.batch, _TRAINING_STEPS))
                    for recipe in options.recipes
                }
    _show(costs, trainings)
    feeds = [{"store": store, **asdict(cost)} for store, cost in costs]
    report = {"feeds": feeds, "trainings": {name: asdict(speed) for name, speed in trainings.items()}}
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


@contextmanager
def _examples(options: FeedOptions, windows: int) -> Generator[Path]:
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        generate(Path(folder), windows, options.tokens)
        yield Path(folder)


def _feed_cost(folder: Path, store: str, options: FeedOptions) -> FeedCost:
    run = FeedRun(options.recipes[0], options.batch, options.steps)
    if store == "disk":
        return measure_feed(str(folder), run)
    with (
        tempfile.TemporaryDirectory(dir=options.scratch) as cache,
        environment({node_cache.FOLDER: cache}),
        folder_store(folder) as address,
    ):
        return measure_feed(address, run)


def _show(costs: Sequence[tuple[str, FeedCost]], trainings: Mapping[str, Speed]) -> None:
    rows = [
        (
            f"{cost.windows:,}",
            store,
            f"{cost.first_step:.2f}",
            f"{cost.speed.per_second:,.0f}",
            f"{cost.speed.per_core_second:,.0f}",
            f"{cost.own:.0f}",
            f"{cost.mapped:.0f}",
        )
        for store, cost in costs
    ]
    columns = ("windows", "from", "s to the first step", "tokens/s", "tokens/core second", "own MiB", "mapped MiB")
    terminal.show_table("The feed of one worker", columns, rows)
    slowest = min(cost.speed.per_core_second for _, cost in costs)
    terminal.show_table(
        "Training on the same windows",
        ("recipe", "tokens/s", "tokens/core second", "slowest feed relative to it, by core seconds"),
        [
            (name, f"{one.per_second:,.0f}", f"{one.per_core_second:,.0f}", f"{slowest / one.per_core_second:.1f}")
            for name, one in trainings.items()
        ],
    )
