"""Load plug-ins by name.

The five plug-in packages are architectures, readers, tasks, ocr.engines and importing. A plug-in is a module of one of
them that defines the package's constant (`ARCHITECTURE`, `READER`, `TASK`, `ENGINE`, `IMPORTER`); its name is the
module's name.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator

from layoutray.errors import InputError


def names(package: str, constant: str) -> tuple[str, ...]:
    """Names of the plug-ins in `package`, sorted. Imports all its modules; meant for messages and tests."""
    return tuple(sorted(_modules_with(package, constant)))


def load(package: str, constant: str, name: str) -> object:
    """The constant of plug-in `name`. Imports only its module.

    Raises:
        InputError: when there is no such plug-in; the message lists the known ones.
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
