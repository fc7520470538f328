"""Strict settings: nested dicts (from TOML) into frozen dataclasses, with overrides by dotted path.

A key that no dataclass knows is an error that names its dotted path and the keys known there; so is a value of a wrong type.
"""

import dataclasses
import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pydantic

from layoutray.errors import RecipeError

Settings = TypeVar("Settings")


def read_toml(path: Path) -> dict[str, Any]:
    """Nested dict of a TOML file. Raises RecipeError where it is missing or not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecipeError(f"recipe {path} does not exist") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"recipe {path} is not valid TOML: {error}") from error


def override(values: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """`values` with `dotted.key=value` assignments applied; a value is read as TOML, and as plain text where it is none.

    Raises:
        RecipeError: for an assignment without `=`, or a path that runs through a value.
    """
    result = dict(values)
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not path:
            raise RecipeError(f"override {assignment!r} must look like section.key=value")
        *sections, key = path.strip().split(".")
        table = result
        for section in sections:
            inner = table.get(section, {})
            if not isinstance(inner, Mapping):
                raise RecipeError(f"override {assignment!r}: {section!r} is a value, not a section")
            table[section] = dict(inner)
            table = table[section]
        table[key] = _value(text.strip())
    return result


def build(kind: type[Settings], values: Mapping[str, Any], path: str = "") -> Settings:
    """An instance of dataclass `kind` from nested `values`, strictly typed.

    Args:
        path: dotted path of `values` in the recipe, for messages.

    Raises:
        RecipeError: unknown key, missing key or wrong type, with dotted path, value and what is allowed.
    """
    _refuse_unknown(kind, values, path)
    adapter = pydantic.TypeAdapter(kind, config=None)
    try:
        return adapter.validate_python(dict(values))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(filter(None, (path, *map(str, first["loc"]))))
        raise RecipeError(f"recipe key {where}: {first['msg']}, got {first['input']!r}") from error


def to_dict(settings: object) -> dict[str, Any]:
    """Nested plain dict of a settings dataclass: what `build` takes."""
    return dataclasses.asdict(settings)  # pyright: ignore[reportArgumentType]


def _refuse_unknown(kind: Any, values: Mapping[str, Any], path: str) -> None:
    known = {field.name: field.type for field in dataclasses.fields(kind)}
    for key, value in values.items():
        where = ".".join(filter(None, (path, key)))
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise RecipeError(f"unknown recipe key {where}{hint}; known here: {', '.join(known)}")
        if dataclasses.is_dataclass(known[key]):
            if not isinstance(value, Mapping):
                raise RecipeError(f"recipe key {where} must be a section, got {value!r}")
            _refuse_unknown(known[key], value, where)


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
