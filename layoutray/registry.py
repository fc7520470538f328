"""Load plug-ins by name.

A plug-in is a module that defines the constant of its kind; CONTRIBUTING.md lists the kinds. Its name is the name of
the module. docs/plugins.md explains those of other distributions: the package of the kind, or the module of an
architecture that takes parts (`load_part`), is the group of the entry point.
"""

import importlib
import importlib.resources
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.resources.abc import Traversable
from typing import TypeVar, cast

from layoutray.errors import InputError

Part = TypeVar("Part")


def names(package: str, constant: str) -> tuple[str, ...]:
    """Names of the plug-ins in `package` and its folders, and of its entry points, sorted.

    Imports all its own modules; meant for messages and tests.
    """
    own = {
        module.name
        for folder in _folders(package)
        for module in pkgutil.iter_modules(importlib.import_module(folder).__path__)
        if not module.ispkg and hasattr(importlib.import_module(f"{folder}.{module.name}"), constant)
    }
    return tuple(sorted(own | set(_entry_points(package).names)))


def load(package: str, constant: str, name: str) -> object:
    """The constant of plug-in `name`. Imports only its module.

    Raises:
        InputError: when there is no such plug-in; the message lists the known ones. Also when the module of an entry
            point cannot be imported or does not define the constant.
    """
    if name.isidentifier():
        for module in (f"{folder}.{name}" for folder in _folders(package)):
            if importlib.util.find_spec(module) is not None and hasattr(importlib.import_module(module), constant):
                return getattr(importlib.import_module(module), constant)
    for entry in _entry_points(package).select(name=name):
        return _of_entry_point(entry, constant)
    raise InputError(_unknown(package, name, names(package, constant)))


def load_part(group: str, constant: str, name: str, own: Mapping[str, Part]) -> Part:
    """A part of an architecture: one of its `own`, or the constant of an entry point. Raises InputError as `load`."""
    if name in own:
        return own[name]
    for entry in _entry_points(group).select(name=name):
        return cast(Part, _of_entry_point(entry, constant))
    raise InputError(_unknown(group, name, sorted({*own, *_entry_points(group).names})))


def folders(group: str) -> Iterator[Traversable]:
    """The packages that the entry points of `group` name, as folders of files."""
    for entry in _entry_points(group):
        yield importlib.resources.files(entry.module)


def _entry_points(group: str) -> EntryPoints:
    return _entry_points_on(tuple(sys.path), group)


@cache
def _entry_points_on(_: tuple[str, ...], group: str) -> EntryPoints:
    """The plug-ins of all distributions on this path. To read them takes 20 ms."""
    return entry_points(group=group)


def _folders(package: str) -> Iterator[str]:
    yield package
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if module.ispkg:
            yield f"{package}.{module.name}"


def _of_entry_point(entry: EntryPoint, constant: str) -> object:
    distribution = entry.dist.name if entry.dist else "a package"
    plugin = f"plug-in {entry.name!r} of {distribution} is {entry.value}, which"
    try:
        module = entry.load()
    except ImportError as error:
        raise InputError(
            f"{plugin} cannot be imported: {error}; install the newest version of {distribution}, or remove it"
        ) from error
    if not hasattr(module, constant):
        raise InputError(f"{plugin} does not define {constant}; the entry point must name the module that does")
    return getattr(module, constant)


def _unknown(package: str, name: str, known: Iterable[str]) -> str:
    kind = package.rpartition(".")[2]
    return (
        f"unknown name {name!r} in {kind}; known: {', '.join(known)}; "
        "if it is a plug-in of another package, install that package"
    )
