"""Registered models: what a name of MLflow's registry means, where its checkpoint is read, which version serves.

`layoutray finetune --register` gives the newest version the alias `candidate`. `promote` moves the alias `champion`,
which endpoints follow. A tag of the registered model lists the versions that were champion before, for `rollback`.

MLflow is imported only for `models:/`, because a node that reads its checkpoints from folders needs none.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from layoutray import start
from layoutray.checkpoint import Fetch
from layoutray.errors import InputError, TrackingError
from layoutray.store import sources
from layoutray.store.node_cache import local_copy
from layoutray.tracking import client, stores
from layoutray.tracking.stores import absolute, without_password

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

CHAMPION = "champion"
"""Alias of the version to serve: `models:/NAME@champion`."""
CANDIDATE = "candidate"
"""Alias of the version that was registered last."""
FORMER = "layoutray.former_champions"
"""Tag of a registered model: a JSON list of version numbers, the last champion at the end."""
_CANARIES = "layoutray.canaries"
"""Tag of a registered model: a JSON list of the addresses of data sets, whose answers each promotion compares."""
_MODELS = "models:/"
_UNKNOWN = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")
"""Codes of MLflow for a model, version or alias that does not exist."""
_NOT_IN_NAMES = re.compile("[/:@]")
_NUMBER = re.compile("[0-9]{1,18}")


def resolve(model: str, uri: str) -> str:
    """The checkpoint that `model` names now, as a name that always means the same one: the identity for a job.

    Args:
        model: `start`, the checkpoint of this package; a folder, its s3:// address; or `models:/NAME@ALIAS` or
            `models:/NAME/VERSION` of the registry at `uri`.

    Returns:
        The name of the start with its version, the absolute folder, the address, or `models:/NAME/VERSION`. Every
        process that needs the files calls `fetch`.

    Raises:
        TrackingError: if the registry does not answer, or does not have the model.
    """
    if model == start.NAME or start.is_resolved(model):
        return start.resolved() if model == start.NAME else model
    if not model.startswith(_MODELS):
        return sources.absolute(model)
    stores.check_exists(absolute(uri))
    named, separator, alias = model.removeprefix(_MODELS).partition("@")
    name, _, number = named.partition("/")
    mlflow = client.connect(uri)
    try:
        found = mlflow.get_model_version_by_alias(named, alias) if separator else mlflow.get_model_version(name, number)
    except TrackingError as error:
        if error.code not in _UNKNOWN:
            raise
        what = f"MLflow at {without_password(uri)} cannot provide {model}"
        raise TrackingError(f"{what}: {_known(mlflow, name)}", error.code) from None
    if not _NUMBER.fullmatch(version := str(found.version)):  # it becomes a part of paths
        raise TrackingError(f"MLflow at {without_password(uri)} has {model} as version {version!r:.40}, not a number")
    return f"{_MODELS}{name}/{version}"


def check_name(name: str) -> None:
    """Raise InputError if no model can be registered as `name`."""
    if not name.strip() or _NOT_IN_NAMES.search(name) or name.strip(".") == "":
        raise InputError(f"{name!r} cannot be the name of a registered model; give one without / : and @")


def has_alias(model: str) -> bool:
    """Whether `model` is `models:/NAME@ALIAS`, which can name another version at another time."""
    return model.startswith(_MODELS) and "@" in model


def version_of(resolved: str) -> str:
    """The version of a registered model, as answers state it; empty for a folder or address."""
    return resolved.rpartition("/")[2] if resolved.startswith(_MODELS) else ""


def fetch(resolved: str, uri: str) -> str:
    """A folder or s3:// address at which this process can read the checkpoint that `resolve` has returned.

    A registered model is read where MLflow stores it, if that is an s3:// address or a folder that exists here.
    Otherwise its files are downloaded once into a cache of this machine, see `store.node_cache`.

    Raises:
        InputError: if the registry does not have the model, or its files cannot be read.
        CheckpointError: if it is the start of another version of this package.
    """
    if start.is_resolved(resolved):
        return start.folder_of(resolved)
    if not resolved.startswith(_MODELS):
        return resolved
    name, _, number = resolved.removeprefix(_MODELS).partition("/")
    address = client.connect(uri).get_model_version_download_uri(name, number)
    if address.startswith("s3://"):
        return address
    local = sources.local_path(address) if urlsplit(address).scheme in ("", "file") else None
    if local is not None and local.is_dir():
        return str(local)
    digest = hashlib.sha256(f"{without_password(absolute(uri))} {address}".encode()).hexdigest()[:12]
    with client.translated(uri, f"download {resolved}"):
        return str(local_copy(f"{quote(name, safe='')}-{number}-{digest}", partial(_download, address, uri)))


def fetcher(uri: str) -> Fetch:
    """`fetch` with the registry at `uri`, for other processes."""
    return partial(fetch, uri=absolute(uri))


def checkpoint_folder(model: str, uri: str) -> tuple[str, str]:
    """`fetch` of what `model` names now, and its `version_of`. Raises InputError as both do."""
    resolved = resolve(model, uri)
    return fetch(resolved, uri), version_of(resolved)


def promote(name: str, version: str, uri: str) -> None:
    """Make `version` the champion of model `name`. Raises InputError when the registry refuses."""
    mlflow = client.connect(uri)
    present, former = _champions(mlflow, name)
    if present == version:
        return
    if present:
        mlflow.set_registered_model_tag(name, FORMER, json.dumps([*former, present]))
    mlflow.set_registered_model_alias(name, CHAMPION, version)


def canaries(name: str, uri: str) -> list[str]:
    """The addresses of the data sets of canary documents that are kept with model `name`."""
    return json.loads(client.connect(uri).get_registered_model(name).tags.get(_CANARIES, "[]"))


def keep_canaries(name: str, folders: Sequence[str], uri: str) -> None:
    """Keep the addresses of canary documents with model `name`."""
    client.connect(uri).set_registered_model_tag(name, _CANARIES, json.dumps(folders))


def rollback(name: str, uri: str) -> tuple[str, str]:
    """Make the former champion of model `name` the champion again.

    Returns:
        The version that was champion, and the one that is it now.

    Raises:
        InputError: when there is no former champion, or the registry refuses.
    """
    stores.check_exists(absolute(uri))
    mlflow = client.connect(uri)
    present, former = _champions(mlflow, name)
    if not former:
        raise InputError(f"no version of {name} was champion before the present one; move the alias in MLflow")
    mlflow.get_model_version(name, former[-1])
    mlflow.set_registered_model_alias(name, CHAMPION, former[-1])
    mlflow.set_registered_model_tag(name, FORMER, json.dumps(former[:-1]))
    return present, former[-1]


def _champions(mlflow: "MlflowClient", name: str) -> tuple[str, list[str]]:
    """The present champion of a model, empty if there is none, and the former ones.

    The tag ends in the present champion where a process was killed between the two calls that change tag and alias.
    """
    try:
        model = mlflow.get_registered_model(name)
    except TrackingError as error:
        if error.code not in _UNKNOWN:
            raise
        raise TrackingError(f"there is no registered model {name!r}: {_known(mlflow, name)}", error.code) from None
    present, former = str(model.aliases.get(CHAMPION, "")), list[str](json.loads(model.tags.get(FORMER, "[]")))
    while former and former[-1] == present:
        former.pop()
    return present, former


def _known(mlflow: "MlflowClient", name: str) -> str:
    """What there is instead of a model that was not found, and how to name it."""
    models = {one.name: one for one in mlflow.search_registered_models()}
    if name not in models:
        known = f"the registered models are {', '.join(models)}" if models else "no model is registered"
        return f"{known} there; another store is named by --tracking-uri"
    aliases: dict[str, str] = models[name].aliases
    named = ", ".join(f"{_MODELS}{name}@{alias} (version {version})" for alias, version in aliases.items())
    return f"give {named or 'an alias'}, or a version as in {_MODELS}{name}/1"


def _download(address: str, uri: str, folder: Path) -> Path:
    from mlflow.artifacts import download_artifacts

    return Path(download_artifacts(address, dst_path=str(folder), tracking_uri=uri))
