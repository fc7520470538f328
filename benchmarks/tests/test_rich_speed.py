"""Rich Attention beside ETC, each in a process of its own."""

import pytest

from benchmarks.papers.formnet_models import MODELS
from benchmarks.tests.steps import WEIGHTS, measured


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_step_takes_time_and_memory(model: str) -> None:
    found = measured("rich_speed", model)
    assert found.seconds > 0
    assert found.bytes > 4 * WEIGHTS
