"""Checkpoints of other people's releases, made ours. An importer is a module here that ends in `IMPORTER`, named after the release."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

from layoutray import registry
from layoutray.checkpoint import Checkpoint


class Importer(Protocol):
    """Makes a checkpoint of a folder of the release; writes nothing."""

    def __call__(self, folder: Path, overrides: Sequence[str]) -> Checkpoint:
        """The checkpoint that `folder` holds, under a recipe made of its configuration.

        Args:
            overrides: `dotted.key=value` of that recipe, for what the configuration does not say.

        Raises:
            InputError: when the folder is not one of the release, or holds what our models cannot honour.
        """
        ...


def load(name: str) -> Importer:
    """The importer called `name`; dashes stand for underscores."""
    return cast(Importer, registry.load(__name__, "IMPORTER", name.replace("-", "_")))
