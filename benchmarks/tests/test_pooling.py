import json

import pytest

from benchmarks.__main__ import main
from benchmarks.measure.pooling import METHODS, PoolingCase, measure_pooling
from layoutray.errors import InputError


def test_every_method_is_timed_and_compared_with_the_exact_one() -> None:
    found = {
        one.method: one
        for one in measure_pooling(PoolingCase(tokens=64, keep=8, width=16, batch=2), list(METHODS), rounds=1)
    }
    assert found.keys() == METHODS.keys()
    assert all(one.seconds > 0 for one in found.values())
    assert found["hard top-k"].nccs == pytest.approx(1)
    assert found["iterative"].nccs < found["successive halving"].nccs < 1


def test_there_is_one_row_per_case_and_method(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--tokens", "16", "32", "--keep", "4", "--width", "8", "--rounds", "1"]
    assert main(["pooling", *sizes, "--methods", "hard top-k", "successive halving"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["tokens"], row["method"]) for row in rows] == [
        (tokens, method) for tokens in (16, 32) for method in ("hard top-k", "successive halving")
    ]


def test_a_ratio_that_is_no_power_of_two_is_refused() -> None:
    with pytest.raises(InputError, match="20 tokens cannot be halved to 6"):
        measure_pooling(PoolingCase(tokens=20, keep=6, width=8, batch=1), ["successive halving"], rounds=1)
