"""From a batch of tokens to encoded states. An architecture is a module here that ends in `ARCHITECTURE`."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable

from torch import nn

from layoutray import registry
from layoutray.errors import InputError
from layoutray.nn.weight_names import NameTable

Config = TypeVar("Config")
ConfigIn = TypeVar("ConfigIn", contravariant=True)


@runtime_checkable
class Build(Protocol[ConfigIn]):
    """Makes a freshly initialised encoder (see `layoutray.tensors.Encoder`) from a configuration and two facts of the vocabulary."""

    def __call__(self, config: ConfigIn, *, vocab_size: int, pad_id: int) -> nn.Module: ...


@dataclass(frozen=True)
class Parent:
    """What an encoder takes over from a trained encoder of another architecture.

    Attributes:
        names: its parameter names <-> ours; what is dropped is left behind.
        fixed: values that its configuration must have, by field.
        shared: fields of its configuration that must agree with fields of ours, where no shape would tell.
    """

    names: NameTable
    fixed: Mapping[str, object] = dataclasses.field(default_factory=dict[str, object])
    shared: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Architecture(Generic[Config]):
    """What a recipe's `arch` names.

    Attributes:
        name: as in recipes; the module's name.
        config: frozen dataclass; has at least `dropout` (heads use it) and `max_length` in tokens, and nothing of the vocabulary.
        sizes: ready configurations by name; `tiny`, `small` and `base` in every architecture.
        build: makes the encoder.
        initialise: draws the initial weights of whatever stands on the encoder, given its width.
        inherits: other architectures, by name, whose trained encoders it can start from; from its own it always can.
    """

    name: str
    config: type[Config]
    sizes: Mapping[str, Config]
    build: Build[Config]
    initialise: Callable[[nn.Module, int], None]
    inherits: Mapping[str, Parent] = dataclasses.field(default_factory=dict[str, Parent])


def load(name: str) -> Architecture[Any]:
    """The architecture called `name`."""
    return cast(Architecture[Any], registry.load(__name__, "ARCHITECTURE", name))


def check_ranges(config: Any, *, smallest: Mapping[str, int]) -> None:
    """Refuse a configuration dataclass with an integer below 1 (or below its entry in `smallest`) or a dropout outside 0 ≤ p < 1.

    Raises:
        InputError: names field, value and what is allowed.
    """
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, int) and value < smallest.get(field.name, 1):
            raise InputError(f"{field.name} is {value}; it must be at least {smallest.get(field.name, 1)}")
        if isinstance(value, float) and not 0 <= value < 1:
            raise InputError(f"{field.name} is {value}; it must be at least 0 and below 1")


def check_heads(config: Any, width: str, heads: str) -> None:
    """Refuse a configuration whose field `heads` does not divide its field `width`. Raises InputError."""
    if getattr(config, width) % getattr(config, heads):
        raise InputError(
            f"{heads} is {getattr(config, heads)}; it must divide {width}, which is {getattr(config, width)}"
        )
