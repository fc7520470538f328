"""Strict settings: converts nested dicts (from TOML) to frozen dataclasses, with overrides by dotted path.

An unknown key is an error that names its dotted path and the known keys. A value of the wrong type is an error too.
A dataclass whose section differs from its fields defines `from_section` and `to_section` (see `Section`).
"""

import dataclasses
import difflib
import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any, Protocol, TypeVar, cast, get_args, get_origin, runtime_checkable

import pydantic

from layoutray.errors import InputError, RecipeError

Settings = TypeVar("Settings")


@runtime_checkable
class Section(Protocol):
    """A settings dataclass whose section in a recipe has other keys than its fields."""

    @classmethod
    def from_section(cls, values: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """Values of the fields from those of the section at the dotted path `path`. Raises RecipeError."""
        ...

    def to_section(self) -> Mapping[str, Any]:
        """The section; `from_section` is the inverse."""
        ...


def read_toml(path: Traversable) -> dict[str, Any]:
    """Nested dict of a TOML file. Raises RecipeError when the file is missing or not valid TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecipeError(f"recipe {path} does not exist") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(f"recipe {path} is not valid TOML: {error}") from error


def override(values: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """`values` with `dotted.key=value` assignments applied. A value is parsed as TOML, else taken as text.

    Raises:
        RecipeError: when an assignment has no `=`, or its path goes through a value.
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
        table[key] = value_of(text.strip())
    return result


def value_of(text: str) -> Any:
    """`text` as a TOML value, else as text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def build(kind: type[Settings], values: Mapping[str, Any], path: str = "") -> Settings:
    """An instance of dataclass `kind` from nested `values`. Types must match, except that an integer can be a float.

    Args:
        path: dotted path of `values` in the recipe, for messages.

    Raises:
        RecipeError: unknown key, missing key, wrong type, or invalid value; with the dotted path and the value.
    """
    if issubclass(kind, Section):
        values = kind.from_section(values, path)
    fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(kind)  # pyright: ignore[reportArgumentType]
    known = {field.name: field.type for field in fields}
    check_keys(values, known, path)
    for field in fields:
        if field.name not in values and field.default is field.default_factory is dataclasses.MISSING:
            raise RecipeError(f"recipe key {_join(path, field.name)} is missing")
    typed = {key: _typed(known[key], value, _join(path, key)) for key, value in values.items()}
    try:
        return kind(**typed)
    except InputError as error:
        raise RecipeError(f"recipe section {path}: {error}" if path else str(error)) from error


def check_keys(values: Mapping[str, Any], known: Collection[str], path: str) -> None:
    """Raise RecipeError for the first key of `values` that is not in `known`; it names the closest known key."""
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise RecipeError(f"unknown recipe key {_join(path, key)}{hint}; known here: {', '.join(known)}")


def to_dict(settings: object) -> dict[str, Any]:
    """Nested plain dict of a settings dataclass, as `build` takes it. Tuples become lists, as in JSON."""
    return json.loads(json.dumps(settings, default=_section))


def _section(settings: Any) -> Mapping[str, Any]:
    """One level of a settings dataclass."""
    if isinstance(settings, Section):
        return settings.to_section()
    return {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}


def _typed(kind: Any, value: Any, path: str) -> Any:
    if dataclasses.is_dataclass(value):  # built by the caller; TOML has no such values
        return value
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise RecipeError(f"recipe key {path} must be a section, got {value!r}")
        return build(cast(type[Any], kind), value, path)
    if get_origin(kind) is dict and dataclasses.is_dataclass(entry := get_args(kind)[1]) and isinstance(value, Mapping):
        return {
            key: _typed(entry, content, _join(path, key)) for key, content in cast(Mapping[str, Any], value).items()
        }
    if get_origin(kind) is tuple and isinstance(value, list):  # TOML and JSON have no tuples
        value = tuple(cast(list[Any], value))
    try:
        return pydantic.TypeAdapter(kind).validate_python(value, strict=True)
    except pydantic.ValidationError as error:
        raise RecipeError(f"recipe key {path}: {error.errors()[0]['msg']}, got {value!r}") from error


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
