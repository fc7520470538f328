"""A step of LAMBERT and of its peer is measured in a process of its own."""

import pytest

from benchmarks.measure.training_step import StepCost
from benchmarks.papers.lambert_models import MODELS
from benchmarks.tests.steps import WEIGHTS, measured

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> dict[str, StepCost]:
    return {model: measured("lambert_speed", model) for model in MODELS}


def test_every_model_takes_time_and_memory(found: dict[str, StepCost]) -> None:
    assert all(one.seconds > 0 and one.bytes > 4 * WEIGHTS for one in found.values())


def test_layout_adds_the_cost_of_its_adapter(found: dict[str, StepCost]) -> None:
    """A product of 128 x 128 for each of 2 x 64 tokens, forward and for its weights; ℓ has no gradient."""
    assert found["LAMBERT"].flops - found["LAMBERT, no layout"].flops == 2 * 2 * 128**2 * 2 * 64


def test_the_library_decodes_all_tokens(found: dict[str, StepCost]) -> None:
    assert found["RoBERTa, SDPA"].flops > 1.5 * found["LAMBERT"].flops
