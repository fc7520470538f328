"""Import of released checkpoints. An importer is a module of this package, named after the release, with `IMPORTER`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

from layoutray import registry
from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError


class Importer(Protocol):
    """Converts a folder of a release to a checkpoint; writes nothing."""

    def __call__(self, folder: Path, overrides: Sequence[str]) -> Checkpoint:
        """The checkpoint in `folder`, with a recipe made from the configuration of the release.

        Args:
            overrides: `dotted.key=value` of the recipe, for settings that the configuration does not contain.

        Raises:
            InputError: if the folder is not from the release, or has settings that our models do not support.
        """
        ...


def load(name: str) -> Importer:
    """The importer called `name`; dashes stand for underscores."""
    try:
        return cast(Importer, registry.load(__name__, "IMPORTER", name.replace("-", "_")))
    except InputError as error:
        known = [one.replace("_", "-") for one in registry.names(__name__, "IMPORTER")]
        if name.replace("_", "-") in known:
            raise
        raise InputError(f"no release called {name!r}; known: {', '.join(known)}") from error
