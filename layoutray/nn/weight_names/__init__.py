"""Other people's parameter names and ours, both ways from one table."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from layoutray.errors import InputError


@dataclass(frozen=True)
class NameTable:
    """A reversible map of parameter names.

    Attributes:
        pairs: (theirs, ours); each the name of a parameter or of a module, `{}` standing for a layer's number. The first
            pair that fits decides.
        dropped: their parameters and modules without a counterpart, written like `pairs`: kept twice, or never computed with.
        own: our parameters and modules without a counterpart, likewise: they stay as they are.
    """

    pairs: tuple[tuple[str, str], ...]
    dropped: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    def to_ours(self, name: str) -> str:
        """Our name of their parameter. Raises InputError for a name that the table lacks."""
        return _translate(name, self.pairs)

    def to_theirs(self, name: str) -> str:
        """Their name of our parameter. Raises InputError for a name that the table lacks."""
        return _translate(name, tuple((ours, theirs) for theirs, ours in self.pairs))

    def state_to_ours(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Their state dict under our names, each tensor once. Raises InputError for a name that the table lacks."""
        return {self.to_ours(name): tensor for name, tensor in state.items() if not self.is_dropped(name)}

    def state_to_theirs(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Our state dict under their names. Raises InputError for a name that the table lacks."""
        return {self.to_theirs(name): tensor for name, tensor in state.items() if not self.is_own(name)}

    def is_dropped(self, name: str) -> bool:
        """Whether their parameter `name` is left behind by intent."""
        return any(_matched(source, name) for source in self.dropped)

    def is_own(self, name: str) -> bool:
        """Whether our parameter `name` is one that they do not have."""
        return any(_matched(source, name) for source in self.own)


def _matched(source: str, name: str) -> re.Match[str] | None:
    pattern = re.escape(source).replace(r"\{\}", r"(\d+)")
    return re.match(rf"{pattern}(?=\.|$)", name)


def _translate(name: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for source, target in pairs:
        if found := _matched(source, name):
            return target.format(*found.groups()) + name[found.end() :]
    known = ", ".join(sorted({source.split(".")[0] for source, _ in pairs}))
    raise InputError(f"parameter {name!r} has no counterpart; names in the table start with {known}")
