"""What the benchmarks of a training step share: rounds in which every model runs in a process of its own, and their report."""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import psutil
from torch import nn

from layoutray.bench.step_speed import Case, Measured, measure, product_speed
from layoutray.cli import terminal
from layoutray.errors import LayoutrayError
from layoutray.report import png, scaling
from pipelines._report import log

Key = tuple[str, int]
"""Model and length."""

Models = Mapping[str, Callable[[Case], nn.Module]]


def add_options(parser: argparse.ArgumentParser, models: Models, *, size: str, lengths: Sequence[int]) -> None:
    parser.add_argument("--size", default=size, choices=("tiny", "small", "base"))
    parser.add_argument("--lengths", type=int, nargs="+", default=lengths, help="tokens per window")
    parser.add_argument("--models", nargs="+", choices=models, default=list(models))
    parser.add_argument(
        "--tokens", type=int, default=4096, help="per step at most; windows per step are 8, or fewer to keep to this"
    )
    parser.add_argument("--compile", action="store_true", help="also through torch.compile")
    parser.add_argument("--steps", type=int, default=2, help="that count, of each case in each round")
    parser.add_argument("--rounds", type=int, default=3, help="in each, all models are measured one after the other")
    parser.add_argument("--out", type=Path, help="also write the rows to this file, for `layoutray picture scaling`")


def run(benchmark: str, options: argparse.Namespace, peers: str) -> int:
    """Measure, show and log.

    Args:
        benchmark: its name; its module here runs one case in a process (`run_case`).
        peers: the models whose names start so are what the others are compared with.
    """
    speed = product_speed()
    terminal.say(f"a large matrix product here: {speed / 1e9:.0f} GFLOP/s")
    rows = [row for length in options.lengths for row in _length(benchmark, options, length)]
    for length in options.lengths:
        _show(length, [row for row in rows if row[0][1] == length], speed, peers)
    report = [
        {
            "model": model,
            "length": length,
            "seconds": statistics.median(one.seconds for one in found),
            "bytes": max(one.bytes for one in found),
        }
        for (model, length), found in rows
    ]
    sys.stdout.write(json.dumps(report) + "\n")
    picture = png.png(scaling.scaling(scaling.parse(json.dumps(report).encode())))
    log(benchmark, {name: str(value) for name, value in vars(options).items()}, report, {"scaling": picture})
    if options.out:
        options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def run_case(models: Models, text: str) -> None:
    """Measure the case that `text` has as JSON in this process, and print what was measured as JSON."""
    case = Case(**json.loads(text))
    sys.stdout.write(json.dumps(asdict(measure(case, models[case.model]))) + "\n")


def _length(benchmark: str, options: argparse.Namespace, length: int) -> list[tuple[Key, list[Measured]]]:
    """All models at one length, round by round, so that a machine that slows down slows all of them."""
    batch = max(1, min(8, options.tokens // length))
    memory = int(0.9 * psutil.virtual_memory().available)
    found: dict[Key, list[Measured]] = {}
    failed: set[Key] = set()
    variants = [
        (model, compiled) for model in options.models for compiled in ((False, True) if options.compile else (False,))
    ]
    for model, compiled in variants * options.rounds:
        key = (f"{model}, compiled" if compiled else model, length)
        if key in failed:
            continue
        try:
            one = _in_a_process(benchmark, Case(model, options.size, length, batch, compiled, options.steps, memory))
        except LayoutrayError as error:
            failed.add(key)
            terminal.say(f"{key[0]} at {length} tokens: {error}")
            continue
        found.setdefault(key, []).append(one)
        terminal.say(f"{key[0]} at {batch} x {length} tokens: {1000 * one.seconds:.0f} ms, {one.bytes / 2**20:.0f} MiB")
    return list(found.items())


def _in_a_process(benchmark: str, case: Case) -> Measured:
    module = f"pipelines._benchmark_{benchmark.replace('-', '_')}"
    done = subprocess.run(
        [sys.executable, "-m", module, json.dumps(asdict(case))], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"ended with status {done.returncode}"]
        raise LayoutrayError(last[0][:200])
    return Measured(**json.loads(done.stdout.strip().splitlines()[-1]))


def _show(length: int, rows: Sequence[tuple[Key, list[Measured]]], speed: float, peers: str) -> None:
    seconds = {model: [one.seconds for one in found] for (model, _), found in rows}
    memory = {model: max(one.bytes for one in found) for (model, _), found in rows}
    compared = [model for model in seconds if model.startswith(peers)] or list(seconds)[:1]
    fastest = min(compared, key=lambda model: statistics.median(seconds[model]))
    smallest = min(compared, key=lambda model: memory[model])
    cells: list[tuple[object, ...]] = []
    for (model, _), found in rows:
        ratios = [theirs / ours for theirs, ours in zip(seconds[fastest], seconds[model], strict=False)]
        flops = statistics.median(one.flops for one in found)
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
        f"times as fast as {fastest}",
        "peak MiB",
        f"over {smallest}",
        "GFLOP",
        "of the product's speed",
    )
    terminal.show_table(f"A training step at {length} tokens", columns, cells)
