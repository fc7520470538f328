"""Multiplications and memory of every encoder of the Pyramidion family, layer by layer, by formula: the paper's table of complexities."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import accumulate, groupby

from layoutray import architectures
from layoutray.bench.complexity import ORDERS, LayerCost, layer_costs, seen_by_decoder
from layoutray.cli import terminal
from layoutray.errors import InputError


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark complexity", description=__doc__)
    parser.add_argument("--size", default="base", choices=("tiny", "small", "base"))
    parser.add_argument("--length", type=int, default=8192, help="tokens of the text")
    parser.add_argument("--encoders", nargs="+", choices=ORDERS, default=list(ORDERS))
    options = parser.parse_args(arguments)
    if options.length < 1:
        raise InputError(f"--length is {options.length}; it must be at least 1")
    config = replace(architectures.load("pyramidion").sizes[options.size], max_length=options.length)
    configs = {encoder: replace(config, encoder=encoder) for encoder in options.encoders}
    costs = {encoder: layer_costs(one, options.length) for encoder, one in configs.items()}
    for encoder, layers in costs.items():
        columns = ("layers", "tokens", "kept", "projections", "attention", "feed forward", "pooling", "held")
        terminal.show_table(f"{encoder}: multiplications in billions, numbers held in millions", columns, _rows(layers))
    first = _total(costs[options.encoders[0]])
    terminal.show_table(
        f"A text of {options.length:,} tokens, all layers; {options.encoders[0]} is 1",
        ("encoder", "attention", "billions", "relative", "held", "decoder sees"),
        [
            (
                encoder,
                ORDERS[encoder],
                f"{_total(layers) / 1e9:.2f}",
                f"{_total(layers) / first:.3f}",
                f"{sum(layer.memory for layer in layers) / 1e6:.1f}",
                seen_by_decoder(configs[encoder], options.length),
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
    """A row for each layer, or for several that follow each other and cost the same."""
    alike = [(cost, len(list(run))) for cost, run in groupby(layers)]
    firsts = accumulate((count for _, count in alike), initial=1)
    return [
        (
            f"{first}" if count == 1 else f"{first} to {first + count - 1}",
            cost.tokens,
            cost.kept,
            *(f"{part / 1e9:.3f}" for part in (cost.projections, cost.attention, cost.feed_forward, cost.pooling)),
            f"{cost.memory / 1e6:.1f}",
        )
        for first, (cost, count) in zip(firsts, alike, strict=False)
    ]


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
