"""Reversible tables between the parameter names of other releases ("theirs") and of our models ("ours")."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from layoutray.errors import InputError


@dataclass(frozen=True)
class NameTable:
    """A reversible map of parameter names.

    Attributes:
        pairs: (theirs, ours): names of parameters or modules, in which `{}` matches a layer number. The first pair that
            matches is used.
        dropped: their parameters and modules that are not imported: duplicates, or not used in the computation.
        ours_only: our parameters and modules that they do not have; loading leaves these unchanged.
    """

    pairs: tuple[tuple[str, str], ...]
    dropped: tuple[str, ...] = ()
    ours_only: tuple[str, ...] = ()

    def to_ours(self, name: str) -> str:
        """Our name of their parameter. Raises InputError if the table has no match."""
        return _translate(name, self.pairs)

    def to_theirs(self, name: str) -> str:
        """Their name of our parameter. Raises InputError if the table has no match."""
        return _translate(name, tuple((ours, theirs) for theirs, ours in self.pairs))

    def state_to_ours(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Their state dict under our names, without dropped parameters. Raises InputError if the table has no match."""
        return {self.to_ours(name): tensor for name, tensor in state.items() if not self.is_dropped(name)}

    def is_dropped(self, name: str) -> bool:
        """Whether their parameter `name` is not imported."""
        return any(_match(source, name) for source in self.dropped)

    def is_ours_only(self, name: str) -> bool:
        """Whether our parameter `name` does not exist in theirs."""
        return any(_match(source, name) for source in self.ours_only)


def _match(source: str, name: str) -> re.Match[str] | None:
    pattern = re.escape(source).replace(r"\{\}", r"(\d+)")
    return re.match(rf"{pattern}(?=\.|$)", name)


def _translate(name: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for source, target in pairs:
        if match := _match(source, name):
            return target.format(*match.groups()) + name[match.end() :]
    known = ", ".join(sorted({source.split(".")[0] for source, _ in pairs}))
    raise InputError(f"parameter {name!r} has no counterpart; known names start with {known}")
