"""Shared by the benchmarks of a training step: rounds in which each model runs in a new process, and their report."""

import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import psutil
from torch import nn

from benchmarks.figures.step_cost import StepCostRow, draw_step_costs, parse
from benchmarks.measure.training_step import StepCase, StepCost, matrix_product_speed, measure_step
from benchmarks.mlflow_log import log
from benchmarks.options import StepCostOptions
from layoutray.cli.shared import terminal
from layoutray.errors import InputError, LayoutrayError
from layoutray.report import png

Key = tuple[str, int]
"""Model and length."""

Models = Mapping[str, Callable[[StepCase], nn.Module]]
"""How each model is built, by its name."""

_REPOSITORY = Path(__file__).resolve().parents[1]


def run(benchmark: str, options: StepCostOptions, peers: str) -> int:
    """Measure, show and log.

    Args:
        benchmark: name of the benchmark; its module runs one case per process (`run_case`).
        peers: prefix of the names of the models that the other models are compared with.
    """
    added = [row for file in options.add for row in parse(file.read_bytes())]
    speed = matrix_product_speed()
    terminal.say(f"speed of a large matrix product on this machine: {speed / 1e9:.0f} GFLOP/s")
    costs = [row for length in options.lengths for row in _measure_length(benchmark, options, length)]
    if not costs:
        raise InputError("no model could be measured; the lines above have the cause of each")
    for length, by_model in itertools.groupby(costs, key=lambda row: row[0][1]):
        _show(length, list(by_model), speed, peers)
    rows = [
        StepCostRow(model, length, statistics.median(one.seconds for one in rounds), max(one.bytes for one in rounds))
        for (model, length), rounds in costs
    ]
    report = [asdict(row) for row in rows]
    sys.stdout.write(json.dumps(report) + "\n")
    picture = png.png(draw_step_costs(rows + added))
    log(benchmark, asdict(options), report, {"scaling": picture})
    if options.picture:
        options.picture.write_bytes(picture)
    if options.out:
        options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def run_case(models: Models, text: str) -> None:
    """Measure the case in the JSON `text` in this process, and write the result to stdout as JSON."""
    case = StepCase(**json.loads(text))
    sys.stdout.write(json.dumps(asdict(measure_step(case, models[case.model]))) + "\n")


def _measure_length(benchmark: str, options: StepCostOptions, length: int) -> list[tuple[Key, list[StepCost]]]:
    """All models at one length, round by round, so that a change of the machine's speed affects all of them."""
    batch = options.windows(length)
    memory = int(0.9 * psutil.virtual_memory().available)
    costs: dict[Key, list[StepCost]] = {}
    failed: set[Key] = set()
    variants = list(itertools.product(options.models, (False, True) if options.compile else (False,)))
    for model, compiled in variants * options.rounds:
        key = (f"{model}, compiled" if compiled else model, length)
        if key in failed:
            continue
        try:
            case = StepCase(
                model=model,
                size=options.size,
                length=length,
                batch=batch,
                compiled=compiled,
                steps=options.steps,
                memory=memory,
            )
            cost = _in_new_process(benchmark, case)
        except LayoutrayError as error:
            failed.add(key)
            terminal.say(f"{key[0]} at {length} tokens: {error}")
            continue
        costs.setdefault(key, []).append(cost)
        terminal.say(
            f"{key[0]} at {batch} x {length} tokens: {1000 * cost.seconds:.0f} ms, {cost.bytes / 2**20:.0f} MiB"
        )
    return list(costs.items())


def _in_new_process(benchmark: str, case: StepCase) -> StepCost:
    module = f"benchmarks.commands.{benchmark.replace('-', '_')}"
    command = [sys.executable, "-m", module, json.dumps(asdict(case))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_REPOSITORY)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"the process ended with status {done.returncode}"]
        raise LayoutrayError(last[0][:200])
    return StepCost(**json.loads(done.stdout.strip().splitlines()[-1]))


def _show(length: int, rows: Sequence[tuple[Key, list[StepCost]]], speed: float, peers: str) -> None:
    seconds = {model: [one.seconds for one in rounds] for (model, _), rounds in rows}
    memory = {model: max(one.bytes for one in rounds) for (model, _), rounds in rows}
    compared = [model for model in seconds if model.startswith(peers)] or list(seconds)[:1]
    fastest = min(compared, key=lambda model: statistics.median(seconds[model]))
    smallest = min(compared, key=lambda model: memory[model])
    cells: list[tuple[object, ...]] = []
    for (model, _), rounds in rows:
        ratios = [theirs / ours for theirs, ours in zip(seconds[fastest], seconds[model], strict=False)]
        flops = statistics.median(one.flops for one in rounds)
        cells.append(
            (
                model,
                f"{1000 * statistics.median(seconds[model]):.0f}",
                f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
                f"{memory[model] / 2**20:.0f}",
                f"{memory[model] / memory[smallest]:.2f}",
                f"{flops / 1e9:.0f}",
                f"{flops / speed / statistics.median(seconds[model]):.2f}",
            )
        )
    columns = (
        "model",
        "ms",
        f"speed relative to {fastest}",
        "peak MiB",
        f"memory relative to {smallest}",
        "GFLOP",
        "share of the product's speed",
    )
    terminal.show_table(f"A training step at {length} tokens", columns, cells)
