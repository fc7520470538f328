"""Encoders, which map tokens to states. An architecture is a module of this package that defines `ARCHITECTURE`."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable

from torch import Tensor, nn

from layoutray import registry
from layoutray.document.word_graph import FindNeighbours, no_neighbours
from layoutray.errors import InputError
from layoutray.nn.weight_names import NameTable

Config = TypeVar("Config")
ConfigIn = TypeVar("ConfigIn", contravariant=True)

State = dict[str, Tensor]
"""Tensors of an encoder by name."""


@runtime_checkable
class Build(Protocol[ConfigIn]):
    """Builds a newly initialised encoder (see `layoutray.tensors.Encoder`) for a configuration and a vocabulary."""

    def __call__(self, config: ConfigIn, *, vocab_size: int, pad_id: int) -> nn.Module: ...


@runtime_checkable
class Adapt(Protocol):
    """Changes tensors of a parent `given` under our names to fit our tensors `own`.

    Both are from encoders with the recipe keys `model.*` in `theirs` and `ours`.
    """

    def __call__(
        self, given: State, own: Mapping[str, Tensor], *, theirs: Mapping[str, Any], ours: Mapping[str, Any]
    ) -> State: ...


def unchanged(given: State, own: Mapping[str, Tensor], *, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> State:
    """Return `given` as it is."""
    del own, theirs, ours
    return given


@dataclass(frozen=True)
class Parent:
    """Which weights an encoder can take from a trained encoder of another architecture, its parent.

    Attributes:
        names: the parent's parameter names <-> ours; dropped parameters are not used.
        fixed: fields of the parent's configuration and the values that they must have.
        shared: fields of the parent's configuration -> fields of ours that must be equal; needed where different values
            would not lead to different shapes.
        adapt: changes the parent's tensors, under our names, before they are loaded.
    """

    names: NameTable
    fixed: Mapping[str, object] = dataclasses.field(default_factory=dict[str, object])
    shared: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    adapt: Adapt = unchanged


def text_encoder(names: NameTable) -> Parent:
    """Our `hf` architecture with a BERT or RoBERTa as the parent of an encoder with a `core`."""
    return Parent(names, shared={"model_type": "core", **{name: name for name in ("layers", "heads", "norm_epsilon")}})


@dataclass(frozen=True, kw_only=True)
class Architecture(Generic[Config]):
    """An architecture as named by the recipe key `model.arch`.

    Attributes:
        name: name in recipes, equal to the name of the module.
        config: frozen dataclass with at least `dropout` (heads use it too) and `max_length` in tokens, independent of
            the vocabulary.
        sizes: predefined configurations by name; every architecture has `tiny`, `small` and `base`.
        build: builds the encoder.
        initialise: draws the initial weights of a head, given the encoder's width.
        tagging: values of the configuration's fields for tasks that label every word.
        find_neighbours: makes `Batch.neighbours`; encoders that do not use them need no graph.
        may_lack: prefixes of parameters that a start of the same architecture may lack; they keep their random weights.
        inherits: other architectures, by name, whose trained encoders can be used as a start. Encoders of the same
            architecture always can.
    """

    name: str
    config: type[Config]
    sizes: Mapping[str, Config]
    build: Build[Config]
    initialise: Callable[[nn.Module, int], None]
    tagging: Mapping[str, object] = dataclasses.field(default_factory=dict[str, object])
    find_neighbours: FindNeighbours = no_neighbours
    may_lack: tuple[str, ...] = ()
    inherits: Mapping[str, Parent] = dataclasses.field(default_factory=dict[str, Parent])


def load(name: str) -> Architecture[Any]:
    """The architecture called `name`."""
    return cast(Architecture[Any], registry.load(__name__, "ARCHITECTURE", name))


def check_ranges(config: Any, *, smallest: Mapping[str, int]) -> None:
    """Check that each integer field is at least 1, or its entry in `smallest`, and that each float field is in [0, 1).

    Raises:
        InputError: with the field, its value and the allowed values.
    """
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, int) and value < smallest.get(field.name, 1):
            raise InputError(f"{field.name} is {value}; it must be at least {smallest.get(field.name, 1)}")
        if isinstance(value, float) and not 0 <= value < 1:
            raise InputError(f"{field.name} is {value}; it must be at least 0 and below 1")


def check_heads(config: Any, width: str, heads: str) -> None:
    """Check that the field called `heads` divides the field called `width`. Raises InputError."""
    if getattr(config, width) % getattr(config, heads):
        raise InputError(
            f"{heads} is {getattr(config, heads)}; it must divide {width}, which is {getattr(config, width)}"
        )


def check_winding(config: Any) -> None:
    """Raises InputError if `layout` is `winding` and `hidden` does not fit it."""
    if config.layout == "winding" and config.hidden % 8:
        raise InputError(
            f"hidden is {config.hidden}; it must be divisible by eight: cosine and sine of each of four coordinates"
        )
