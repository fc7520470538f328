import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.errors import InputError
from layoutray.store import spilled
from layoutray.store.spilled import TEXT, SpilledDict, SpilledList, TextCodec, spilled_set


def filled(values: list[str]) -> SpilledList[str]:
    made = SpilledList(TextCodec(json.dumps, json.loads))
    made.extend(values)
    return made


@given(st.lists(st.text()), st.integers(-5, 5), st.slices(5))
def test_a_list_is_a_list(values: list[str], index: int, part: slice) -> None:
    made = filled(values)
    assert (len(made), list(made), made[part]) == (len(values), values, values[part])
    assert list(made.packed()) == list(map(json.dumps, values))
    assert made == values
    assert made != [*values, "more"]
    if -len(values) <= index < len(values):
        assert made[index] == values[index]
    else:
        with pytest.raises(IndexError):
            made[index]


@given(st.lists(st.tuples(st.text(), st.text())))
def test_a_dict_is_a_dict_whose_keys_are_sorted(pairs: list[tuple[str, str]]) -> None:
    made, expected = SpilledDict(TEXT), dict(pairs)
    for key, value in pairs:
        made[key] = value
    assert (len(made), list(made.items())) == (len(expected), sorted(expected.items()))
    assert all(key in made and made[key] == value for key, value in expected.items())
    assert made.get("\0 not there") is None
    assert made == expected
    assert list(spilled_set(expected)) == sorted(expected)


def test_a_list_may_grow_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "_ROWS_PER_READ", 2)
    made = filled(["a"])
    for value in made:
        if len(made) < 7:
            made.append(f"{value}b")
    assert list(made) == ["a" + "b" * count for count in range(7)]
    assert list(spilled_set(made)) == list(made)


def _fill(add: Callable[[str], Any]) -> None:
    for number in range(1000):
        add(f"{number} {'x' * 100}")


@pytest.mark.parametrize("made", [SpilledDict(TEXT), filled([])], ids=["dict", "list"])
def test_a_full_disk_is_said_with_what_to_do(made: SpilledDict[str] | SpilledList[str]) -> None:
    made._rows.execute("PRAGMA max_page_count = 10")
    with pytest.raises(InputError, match=r"disk is full.*set TMPDIR to a folder with more room"):
        _fill(made.append if isinstance(made, SpilledList) else lambda text: made.__setitem__(text, text))
