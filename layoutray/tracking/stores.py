"""Where MLflow keeps runs: a server, or a SQLite file with the artifacts beside it."""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from layoutray.store import local_copies

_SQLITE = "sqlite:///"


def default_uri() -> str:
    """`MLFLOW_TRACKING_URI` if set, else a SQLite file in the working folder, as an absolute path."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path.cwd() / 'mlflow.db'}"


def absolute(uri: str) -> str:
    """`uri` of MLflow with an absolute path if it is a SQLite file: workers have another working folder."""
    return f"{_SQLITE}{_file(uri).absolute()}" if uri.startswith(_SQLITE) else uri


def artifacts(uri: str) -> str | None:
    """Location of artifacts: beside a SQLite file, whatever the working folder is; None lets a server decide."""
    return (_file(uri).parent / "mlartifacts").as_uri() if uri.startswith(_SQLITE) else None


def locked(uri: str) -> AbstractContextManager[None]:
    """Lock a SQLite file: two processes that create its tables at once break it, and MLflow takes no lock."""
    return local_copies.locked(_file(uri).parent) if uri.startswith(_SQLITE) else nullcontext()


def without_password(uri: str) -> str:
    """`uri` without name and password."""
    scheme, separator, rest = uri.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _file(uri: str) -> Path:
    return Path(uri.removeprefix(_SQLITE))
