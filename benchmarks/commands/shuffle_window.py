"""Perplexity after training on examples shuffled as a whole, and shuffled in groups of blocks."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure.spread import Spread
from benchmarks.options import RunsOptions, add_runs_options
from benchmarks.training_runs import Runs, Scores, read_history, schedule
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import parse
from layoutray.errors import InputError
from layoutray.store.card import Card
from layoutray.store.example_files import BLOCK_ROWS
from layoutray.training.reporter import HISTORY

_WHOLE, _BLOCKS = "whole", "blocks"


@dataclass(frozen=True, kw_only=True)
class ShuffleWindowOptions(RunsOptions):
    """Options of `shuffle-window`.

    Attributes:
        pages: folder of pages with splits train and dev.
        length: tokens per window.
        window: `train.shuffle_window` of the training in blocks.
    """

    pages: Path
    length: int
    window: int


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks shuffle-window", description=__doc__)
    parser.add_argument("pages", type=Path, help="folder of pages with splits train and dev")
    parser.add_argument("--length", type=int, default=64, help="tokens per window")
    parser.add_argument(
        "--window", type=int, default=2 * BLOCK_ROWS, help="examples of a group of blocks; below the number of examples"
    )
    add_runs_options(parser)
    options = parse(parser, arguments, ShuffleWindowOptions)
    runs = Runs("shuffle-window", options)
    examples = runs.encode("pretrain-tiny", str(options.pages), "windows", {"max_length": options.length})
    count = Card.read(str(examples)).examples["train"]
    if options.window >= count:
        raise InputError(f"--window is {options.window}; it must be below the number of examples, {count}")
    windows = {_WHOLE: count, _BLOCKS: options.window}

    def train(name: str, seed: int) -> dict[str, float]:
        keys = {"max_length": options.length, "seed": seed, "train.shuffle_window": windows[name]}
        folder = runs.folder(name, seed)
        runs.train("pretrain", "pretrain-tiny", examples, folder, schedule(options.steps) | keys)
        return {"perplexity": read_history(folder / HISTORY)["dev.perplexity"][-1][1]}

    scores = runs.run_all(windows, train)
    ratios = {seed: scores[_BLOCKS][seed]["perplexity"] / scores[_WHOLE][seed]["perplexity"] for seed in options.seeds}
    _show(scores, ratios, f"{count} examples in blocks of {BLOCK_ROWS}, groups of {options.window}")
    runs.finish({"examples": count, "window": options.window, "scores": scores, "ratios": ratios}, scores)
    return 0


def _show(scores: Scores, ratios: dict[int, float], data: str) -> None:
    rows = [
        (f"shuffled as {name}", str(Spread.of([metrics["perplexity"] for metrics in by_seed.values()])))
        for name, by_seed in scores.items()
    ]
    ratio = ("blocks / whole, by seed", str(Spread.of([*ratios.values()])))
    title = f"Perplexity on dev after training, mean (range) of {len(ratios)} seeds; {data}"
    terminal.show_table(title, ("", "perplexity"), [*rows, ratio])
