"""Settings are strict: what is mistyped or misspelt is refused by its dotted path."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from layoutray import config
from layoutray.errors import InputError, RecipeError


@dataclass(frozen=True)
class Inner:
    share: float = 0.5
    mode: Literal["fast", "exact"] = "fast"

    def __post_init__(self) -> None:
        if self.share > 1:
            raise InputError(f"share is {self.share}; it must be at most 1")


@dataclass(frozen=True)
class Outer:
    name: str
    count: int = 1
    anything: dict[str, Any] = field(default_factory=dict)
    numbers: tuple[int, ...] = ()
    inner: Inner = field(default_factory=Inner)
    named: dict[str, Inner] = field(default_factory=dict[str, Inner])


def test_nested_values_become_dataclasses() -> None:
    values = {"name": "a", "count": 2, "anything": {"x": [1, "b"]}, "inner": {"share": 0.25, "mode": "exact"}}
    assert config.build(Outer, values) == Outer("a", 2, {"x": [1, "b"]}, (), Inner(0.25, "exact"))
    assert config.to_dict(config.build(Outer, values)) == values | {"numbers": [], "named": {}}


def test_sections_of_any_name_become_dataclasses() -> None:
    values = {"name": "a", "named": {"x": {"share": 0.25, "mode": "exact"}, "y": {"share": 1.0, "mode": "fast"}}}
    assert config.build(Outer, values).named == {"x": Inner(0.25, "exact"), "y": Inner(1.0)}
    assert config.to_dict(config.build(Outer, values))["named"] == values["named"]
    with pytest.raises(RecipeError, match=r"recipe key named\.x\.mode: .*'fast' or 'exact', got 'slow'"):
        config.build(Outer, {"name": "a", "named": {"x": {"mode": "slow"}}})
    with pytest.raises(RecipeError, match=r"recipe key named\.x must be a section, got 3"):
        config.build(Outer, {"name": "a", "named": {"x": 3}})
    with pytest.raises(RecipeError, match=r"recipe key named: .*dictionary, got 3"):
        config.build(Outer, {"name": "a", "named": 3})


def test_a_list_may_stand_for_a_tuple_but_not_for_one_of_other_things() -> None:
    assert config.build(Outer, {"name": "a", "numbers": [2, 0]}).numbers == (2, 0)
    with pytest.raises(RecipeError, match=r"recipe key numbers: .*integer, got .*'x'"):
        config.build(Outer, {"name": "a", "numbers": [1, "x"]})


def test_defaults_fill_what_is_not_said() -> None:
    assert config.build(Outer, {"name": "a"}) == Outer("a")


def test_an_integer_may_stand_for_a_float() -> None:
    built = config.build(Outer, {"name": "a", "inner": {"share": 1}})
    assert built.inner.share == 1.0
    assert isinstance(built.inner.share, float)


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (
            {"name": "a", "inner": {"shar": 1}},
            ["unknown recipe key inner.shar", "did you mean share?", "known here: share, mode"],
        ),
        ({"name": "a", "zzz": 1}, ["unknown recipe key zzz;", "known here: name, count, anything, numbers, inner"]),
        ({"count": 1}, ["recipe key name is missing"]),
        ({"name": "a", "inner": 3}, ["recipe key inner must be a section", "3"]),
        ({"name": "a", "count": "abc"}, ["recipe key count", "integer", "'abc'"]),
        ({"name": "a", "count": "5"}, ["recipe key count", "integer", "'5'"]),
        ({"name": "a", "count": 5.0}, ["recipe key count", "integer", "5.0"]),
        ({"name": "a", "count": True}, ["recipe key count", "integer", "True"]),
        ({"name": 7}, ["recipe key name", "string", "7"]),
        ({"name": "a", "inner": {"share": "0.5"}}, ["recipe key inner.share", "number", "'0.5'"]),
        ({"name": "a", "inner": {"mode": "slow"}}, ["recipe key inner.mode", "'fast' or 'exact'", "'slow'"]),
        ({"name": "a", "inner": {"share": 2.0}}, ["recipe section inner", "share is 2.0; it must be at most 1"]),
    ],
)
def test_what_is_wrong_is_refused_by_its_path(values: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(RecipeError) as caught:
        config.build(Outer, values)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_the_path_of_a_part_starts_the_message() -> None:
    with pytest.raises(RecipeError, match=r"unknown recipe key model\.inner\.shar "):
        config.build(Outer, {"name": "a", "inner": {"shar": 1}}, "model")


def test_overrides_are_read_as_toml_and_as_text_where_they_are_none() -> None:
    values = {"name": "a", "inner": {"share": 0.5}}
    changed = config.override(
        values, ["count=3", "inner.share = 0.75", "inner.mode=exact", 'name="b=c"', "anything.deep.x=[1, 2]"]
    )
    assert changed == {
        "name": "b=c",
        "count": 3,
        "inner": {"share": 0.75, "mode": "exact"},
        "anything": {"deep": {"x": [1, 2]}},
    }
    assert values == {"name": "a", "inner": {"share": 0.5}}, "the original stays as it was"


@pytest.mark.parametrize("assignment", ["count", "=3", "name.x=1"])
def test_an_override_that_assigns_nothing_is_refused(assignment: str) -> None:
    with pytest.raises(RecipeError, match=f"override '{assignment}'"):
        config.override({"name": "a"}, [assignment])


def test_files_that_are_no_toml_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("name = \n")
    (tmp_path / "latin.toml").write_bytes("name = 'é'".encode("latin-1"))
    for name, why in [
        ("broken.toml", "not valid TOML"),
        ("latin.toml", "not valid TOML"),
        ("absent.toml", "does not exist"),
    ]:
        with pytest.raises(RecipeError, match=rf"{name} (is|does) .*{why.split()[-1]}"):
            config.read_toml(tmp_path / name)
