"""Find the one constant that a plug-in module ends in.

The five seams (architectures, readers, tasks, ocr engines, importing) are packages; each module in them that ends in the
seam's constant (`ARCHITECTURE`, `READER`, `TASK`, `ENGINE`, `IMPORTER`) is a plug-in named after its file. Nothing lists names.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator

from layoutray.errors import InputError


def names(package: str, constant: str) -> tuple[str, ...]:
    """Names of the modules of `package` that define `constant`, sorted. Imports them all: for messages and tests."""
    return tuple(sorted(_modules_with(package, constant)))


def load(package: str, constant: str, name: str) -> object:
    """The constant of plug-in `name`; imports that module alone.

    Raises:
        InputError: when no such plug-in exists; the message lists those that do.
    """
    if name.isidentifier() and importlib.util.find_spec(f"{package}.{name}") is not None:
        module = importlib.import_module(f"{package}.{name}")
        if hasattr(module, constant):
            return getattr(module, constant)
    kind = package.rpartition(".")[2]
    raise InputError(f"unknown name {name!r} in {kind}; known: {', '.join(names(package, constant))}")


def _modules_with(package: str, constant: str) -> Iterator[str]:
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if hasattr(importlib.import_module(f"{package}.{module.name}"), constant):
            yield module.name
