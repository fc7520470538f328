"""A step of every model is measured in a process of its own."""

import pytest

from benchmarks.measure.training_step import matrix_product_speed
from benchmarks.tests.steps import WEIGHTS, case, measured, run


@pytest.mark.slow
@pytest.mark.parametrize("model", ["Skimformer", "LayoutLM, SDPA", "Longformer", "LongSkimformer"])
def test_a_step_takes_time_and_memory(model: str) -> None:
    found = measured("skim_speed", model)
    assert found.seconds > 0
    assert found.bytes > 4 * WEIGHTS
    assert found.flops > 6 * 128 * 2 * 12 * 128**2, (
        "six operations for each weight of two layers and each of 128 tokens"
    )


@pytest.mark.slow
def test_a_step_that_needs_more_memory_than_allowed_fails() -> None:
    done = run("skim_speed", case("LayoutLM, eager", length=2048, windows=8, memory=2 * 2**30))
    assert done.returncode != 0
    assert "memory" in done.stderr


def test_the_speed_of_a_matrix_product_is_plausible() -> None:
    assert matrix_product_speed(size=256, repeats=2) > 1e8
