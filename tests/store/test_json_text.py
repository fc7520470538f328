"""Infinite numbers and NaN survive JSON that other programs can read."""

import json
import math
from typing import Any

import pytest

from layoutray.store import json_text


def refuse(token: str) -> Any:
    raise ValueError(token)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1.5])
def test_every_float_is_standard_json_and_comes_back(value: float) -> None:
    text = json_text.dumps({"outer": [{"metric": value}, (value,)], "name": "x", "none": None}, indent=2)
    read = json.loads(text, parse_constant=refuse)
    assert (read["name"], read["none"]) == ("x", None)
    for found in (read["outer"][0]["metric"], read["outer"][1][0]):
        assert float(found) == pytest.approx(value, nan_ok=True)


def test_finite_content_is_written_as_json_writes_it() -> None:
    content = {"b": [1, 2.5, True], "a": {"c": "é"}}
    assert json_text.dumps(content, sort_keys=True) == json.dumps(content, sort_keys=True)
