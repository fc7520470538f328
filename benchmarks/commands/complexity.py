"""Multiplications and memory of each encoder of the Pyramidion family by formula: the paper's complexity table."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import accumulate, groupby

from benchmarks.measure.complexity import ORDERS, LayerCost, decoder_keys, layer_costs
from layoutray import architectures
from layoutray.cli.shared import terminal
from layoutray.errors import InputError


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks complexity", description=__doc__)
    parser.add_argument("--size", default="base", choices=("tiny", "small", "base"))
    parser.add_argument("--length", type=int, default=8192, help="tokens of the text")
    parser.add_argument("--encoders", nargs="+", choices=ORDERS, default=list(ORDERS))
    options = parser.parse_args(arguments)
    if options.length < 1:
        raise InputError(f"--length is {options.length}; it must be at least 1")
    config = replace(architectures.load("pyramidion").sizes[options.size], max_length=options.length)
    configs = {encoder: replace(config, encoder=encoder) for encoder in options.encoders}
    costs = {encoder: layer_costs(configs[encoder], options.length) for encoder in configs}
    for encoder, layers in costs.items():
        columns = ("layers", "tokens", "kept", "projections", "attention", "feed forward", "pooling", "memory")
        terminal.show_table(
            f"{encoder}: multiplications in billions, memory in millions of elements", columns, _rows(layers)
        )
    first = _total(costs[options.encoders[0]])
    terminal.show_table(
        f"A text of {options.length:,} tokens, all layers, relative to {options.encoders[0]}",
        ("encoder", "attention", "billions", "relative", "memory", "decoder keys"),
        [
            (
                encoder,
                ORDERS[encoder],
                f"{_total(layers) / 1e9:.2f}",
                f"{_total(layers) / first:.3f}",
                f"{sum(layer.memory for layer in layers) / 1e6:.1f}",
                decoder_keys(configs[encoder], options.length),
            )
            for encoder, layers in costs.items()
        ],
    )
    sys.stdout.write(
        json.dumps({encoder: [asdict(layer) for layer in layers] for encoder, layers in costs.items()}) + "\n"
    )
    return 0


def _total(layers: Sequence[LayerCost]) -> int:
    return sum(layer.multiplications for layer in layers)


def _rows(layers: Sequence[LayerCost]) -> list[tuple[object, ...]]:
    """A row for each layer; consecutive layers of the same cost share one row."""
    groups = [(cost, len(list(run))) for cost, run in groupby(layers)]
    firsts = accumulate((count for _, count in groups), initial=1)
    return [
        (
            f"{first}" if count == 1 else f"{first} to {first + count - 1}",
            cost.tokens,
            cost.kept,
            *(f"{part / 1e9:.3f}" for part in (cost.projections, cost.attention, cost.feed_forward, cost.pooling)),
            f"{cost.memory / 1e6:.1f}",
        )
        for first, (cost, count) in zip(firsts, groups, strict=False)
    ]
