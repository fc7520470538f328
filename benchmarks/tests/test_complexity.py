"""The formulas against the matrix products that a run of each encoder computes."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.__main__ import main
from benchmarks.measure.complexity import ORDERS, decoder_keys, layer_costs
from layoutray.architectures.pyramidion import ARCHITECTURE, PyramidionConfig
from layoutray.errors import InputError
from layoutray.tensors import Batch, Encoded

SMALL = PyramidionConfig(
    hidden=16,
    layers=4,
    heads=2,
    feed_forward=24,
    max_length=96,
    block=8,
    halvings=(0, 1, 2, 0),
    lsh_chunk=4,
    lsh_rounds=3,
)


def counted(config: PyramidionConfig, length: int) -> tuple[FlopCounterMode, Encoded]:
    torch.manual_seed(0)
    encoder = ARCHITECTURE.build(config, vocab_size=50, pad_id=0).eval()
    ids = torch.randint(1, 50, (1, length))
    batch = Batch(
        input_ids=ids, boxes=torch.zeros(1, length, 4, dtype=torch.int64), mask=torch.ones(1, length, dtype=torch.bool)
    )
    # The counter counts attention only in the implementation that uses plain matrix products.
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        encoded = encoder(batch)
    return counter, encoded


@pytest.mark.parametrize("encoder", ORDERS)
@pytest.mark.parametrize("length", [64, 50, 3])
def test_multiplications_equal_those_of_a_run(encoder: Any, length: int) -> None:
    config = replace(SMALL, encoder=encoder)
    costs = layer_costs(config, length)
    counter, encoded = counted(config, length)
    assert counter.get_total_flops() == 2 * sum(layer.multiplications for layer in costs)
    assert encoded.mask.sum() == decoder_keys(config, length)
    if encoder != "funnel":
        by_module = counter.get_flop_counts()
        layers = [2 * (cost.multiplications - cost.pooling) for cost in costs]
        assert [sum(by_module[f"Pyramidion.layers.{number}"].values()) for number in range(4)] == layers


@pytest.mark.parametrize(
    ("encoder", "factor"), [("vanilla", 4), ("blockwise", 2), ("lsh", 2), ("efficient", 2), ("funnel", 4)]
)
def test_attention_cost_grows_linearly_or_quadratically_with_length(encoder: Any, factor: int) -> None:
    config = replace(SMALL, encoder=encoder)
    short, long = ([layer.attention for layer in layer_costs(config, length)] for length in (32, 64))
    assert long == [factor * each for each in short]


def test_a_pyramid_costs_less_than_blocks_and_blocks_less_than_full_attention() -> None:
    config = replace(ARCHITECTURE.sizes["base"], scorer="linear")
    totals = [
        sum(layer.multiplications for layer in layer_costs(replace(config, encoder=encoder), 8192))
        for encoder in ("deep_pyramidion", "blockwise", "vanilla")
    ]
    assert totals == sorted(totals)


def test_an_unknown_scorer_is_refused() -> None:
    with pytest.raises(InputError, match="scorer is 'nonlinear'; the formulas exist only for 'linear'"):
        layer_costs(replace(SMALL, scorer="nonlinear"), 8)


def test_the_table_has_every_encoder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complexity", "--length", "8192"]) == 0
    written = capsys.readouterr()
    found = json.loads(written.out)
    assert found.keys() == ORDERS.keys()
    assert [layer["kept"] for layer in found["deep_pyramidion"]] == [8192, 8192, 2048, 512, 512, 512], (
        "as the paper has it"
    )
    assert "l·n²·d" in written.err
