"""Where MLflow keeps runs: a server, or a SQLite file with the artifacts beside it."""

import functools
import os
import socket
import ssl
import urllib.error
import urllib.request
from contextlib import AbstractContextManager, nullcontext
from http.client import HTTPException
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import urlsplit

from layoutray.errors import TrackingError
from layoutray.store import node_cache

_SQLITE = "sqlite:///"
_HEADER = b"SQLite format 3\0"
_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
"""Default ports of the databases that can hold a store."""
_SCHEMES = ("", "file", "http", "https", "sqlite", "databricks", "databricks-uc", "uc")
"""Of further addresses that MLflow takes; plug-ins of MLflow add others."""
_PATIENCE = 10.0
"""Seconds in which a server has to answer."""


def default_uri() -> str:
    """`MLFLOW_TRACKING_URI` if set, else a SQLite file in the working folder, as an absolute path."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path.cwd() / 'mlflow.db'}"


def absolute(uri: str) -> str:
    """`uri` of MLflow with an absolute path if it is a SQLite file: workers have another working folder."""
    return f"{_SQLITE}{_file(uri).absolute()}" if uri.startswith(_SQLITE) else uri


@functools.cache
def check(uri: str) -> None:
    """Raise TrackingError unless `uri` can be a store: a SQLite file in a folder that exists, or a server that answers.

    MLflow itself repeats a call to a server that does not answer for minutes. A server that has answered once is not
    asked again.
    """
    scheme = urlsplit(uri).scheme.partition("+")[0]
    plugins = {one.name for one in entry_points(group="mlflow.tracking_store")}
    if scheme not in {*_SCHEMES, *_PORTS, *plugins}:
        raise TrackingError(
            f"{without_password(uri)} cannot be a store of MLflow; give http://HOST:PORT of a server, or "
            "sqlite:////PATH/mlflow.db"
        )
    try:
        if uri.startswith(_SQLITE):
            _check_file(_file(uri))
        elif uri.startswith(("http://", "https://")):
            _ask(without_password(uri))
        elif port := _PORTS.get(scheme):
            place = urlsplit(uri)
            socket.create_connection((place.hostname or "127.0.0.1", place.port or port), _PATIENCE).close()
    except (OSError, ValueError, HTTPException) as error:
        reason = str(getattr(error, "reason", None) or error).strip()
        raise TrackingError(
            f"MLflow at {without_password(uri)} does not answer: {reason}; start that server, or give another "
            "--tracking-uri or MLFLOW_TRACKING_URI"
        ) from error


def check_exists(uri: str) -> None:
    """`check` for what is only read. Raises TrackingError also for a SQLite file that does not exist."""
    if uri.startswith(_SQLITE) and not _file(uri).is_file():
        raise TrackingError(
            f"{_file(uri)} does not exist, so it knows no model; run the command in the folder of the training, which "
            "has the file mlflow.db, or name that file: --tracking-uri sqlite:////PATH/mlflow.db"
        )
    check(uri)


def artifacts(uri: str) -> str | None:
    """Location of artifacts: beside a SQLite file, whatever the working folder is; None lets a server decide."""
    return (_file(uri).parent / "mlartifacts").as_uri() if uri.startswith(_SQLITE) else None


def locked(uri: str) -> AbstractContextManager[None]:
    """Lock a SQLite file: two processes that create its tables at once break it, and MLflow takes no lock."""
    return node_cache.locked(_file(uri).parent) if uri.startswith(_SQLITE) else nullcontext()


def without_password(uri: str) -> str:
    """`uri` without name and password."""
    scheme, separator, rest = uri.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _file(uri: str) -> Path:
    return Path(uri.removeprefix(_SQLITE))


def _check_file(file: Path) -> None:
    if not file.parent.is_dir():
        raise TrackingError(f"the folder of the MLflow store {file} does not exist; create it, or give another store")
    if file.is_dir() or (file.is_file() and file.stat().st_size and not _begins(file)):
        raise TrackingError(f"{file} is no SQLite file, so it cannot be a store of MLflow; give another file")


def _begins(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(_HEADER)) == _HEADER


def _ask(address: str) -> None:
    """Any answer will do, also an error: a proxy may ask for a password, and certificates are MLflow's to judge."""
    try:
        urllib.request.urlopen(f"{address.rstrip('/')}/health", timeout=_PATIENCE).close()
    except urllib.error.HTTPError:
        return
    except urllib.error.URLError as error:
        if not isinstance(error.reason, ssl.SSLError):
            raise
