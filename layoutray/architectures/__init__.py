"""Encoders, which map tokens to states. An architecture is a module of this package that defines `ARCHITECTURE`.

What the configurations of several architectures have in common is here: `EncoderConfig`, `CoreConfig`, `SkimConfig`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar, cast, runtime_checkable

from torch import Tensor, nn

from layoutray import registry
from layoutray.document.word_graph import FindNeighbours, no_neighbours
from layoutray.errors import InputError
from layoutray.nn.weight_names import NameTable
from layoutray.tensors import BOX_GRID

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


@dataclass(frozen=True)
class Parent:
    """Which weights an encoder can take from a trained encoder of another architecture, its parent.

    Attributes:
        names: the parent's parameter names <-> ours; dropped parameters are not used.
        fixed: fields of the parent's configuration and the values that they must have.
        shared: fields of the parent's configuration -> fields of ours that must be equal; needed where different values
            would not lead to different shapes.
        adapt: changes the parent's tensors, under our names, before they are loaded; None changes nothing.
    """

    names: NameTable
    fixed: Mapping[str, object] = dataclasses.field(default_factory=dict[str, object])
    shared: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    adapt: Adapt | None = None


def text_encoder(names: NameTable) -> Parent:
    """Our `hf` architecture with a BERT or RoBERTa as the parent of an encoder with a `core`."""
    return Parent(names, shared={"model_type": "core", **{name: name for name in ("layers", "heads", "norm_epsilon")}})


@dataclass(frozen=True, kw_only=True)
class Architecture(Generic[Config]):
    """An architecture as named by the recipe key `model.arch`.

    Attributes:
        name: name in recipes, equal to the name of the module.
        config: frozen dataclass with at least `dropout` (heads use it too) and `max_length` in tokens, independent of
            the vocabulary; ours are `EncoderConfig`s.
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


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """What every architecture of ours configures and checks; the defaults are those of BERT-base.

    Of those that have them, `segments` is the size of the segment table, of which only the first row is used (RoBERTa
    has 1, BERT 2), and `norm_epsilon` is the epsilon of LayerNorms (RoBERTa and fairseq have 1e-5, BERT 1e-12).

    Attributes:
        hidden, feed_forward: width of the states, and inner width of feed-forward blocks.
        dropout, attention_dropout: on embeddings, updates and in heads; on attention probabilities.
        max_length: maximum length of a window in tokens; size of the position table, if there is one.
    """

    hidden: int = 768
    layers: int = 12
    heads: int = 12
    feed_forward: int = 3072
    dropout: float = 0.1
    attention_dropout: float = 0.1
    max_length: int = 512


@dataclass(frozen=True, kw_only=True)
class CoreConfig(EncoderConfig):
    """A BERT or RoBERTa with additions; the defaults are those of RoBERTa-base.

    Its position table has `max_length` rows, to which RoBERTa adds pad id + 1 rows.

    Attributes:
        core: the underlying encoder, which determines the first position: pad id + 1 in `roberta`, 0 in `bert`.
    """

    core: Literal["roberta", "bert"] = "roberta"
    segments: int = 1
    norm_epsilon: float = 1e-5

    def __post_init__(self) -> None:
        check_ranges(self, smallest={})
        check_heads(self, "hidden", "heads")


@dataclass(frozen=True, kw_only=True)
class SkimConfig(EncoderConfig):
    """An encoder with Skim-Attention (arXiv:2109.01078), which has `heads` heads too; the defaults are the paper's.

    Attributes:
        layout_hidden: width e of layout embeddings (Eq. 2).
        skim_head_size: size s of a skim head's queries and keys (Eq. 3).
        max_2d: size of the coordinate tables, above `BOX_GRID` (Eq. 2).
        contextualiser_layers: 2 is the paper's "Contextualised", 0 its ablation "Layout" (Table 3).
        contextualiser_heads: attention heads of the contextualiser; its feed-forward blocks are as wide as the text's.
    """

    layout_hidden: int = 768
    skim_head_size: int = 64
    max_2d: int = 1024
    contextualiser_layers: int = 2
    contextualiser_heads: int = 12

    def __post_init__(self) -> None:
        check_ranges(self, smallest={"max_2d": BOX_GRID + 1, "contextualiser_layers": 0})
        if self.contextualiser_layers:
            check_heads(self, "layout_hidden", "contextualiser_heads")


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
