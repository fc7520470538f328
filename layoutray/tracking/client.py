"""MLflow's client. It is made only if its server answers, and each exception of MLflow becomes a TrackingError."""

import functools
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from layoutray.errors import LayoutrayError, MissingDependencyError, TrackingError
from layoutray.tracking import stores
from layoutray.tracking.stores import without_password

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")
_LONGEST = 300
"""Characters of MLflow's own message in an error."""
_IMPATIENT = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "30", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}
"""Seconds, and repetitions of a call; those of MLflow are 120 and 7."""


def connect(uri: str) -> "MlflowClient":
    """The client of the server or store at `uri`, whose methods raise TrackingError instead of MLflow's exceptions.

    Raises:
        TrackingError: if there is no such store, or its server does not answer.
        MissingDependencyError: if MLflow is not installed.
    """
    stores.check(uri)
    with translated(uri, "open the store"):
        from mlflow.tracking import MlflowClient

        return cast("MlflowClient", _Client(MlflowClient(tracking_uri=uri), uri))


def be_impatient() -> None:
    """Let MLflow in this process, which asks again anyway, give up a call after a minute."""
    for name, value in _IMPATIENT.items():
        os.environ.setdefault(name, value)


@contextmanager
def translated(uri: str, action: str) -> Generator[None]:
    """Raise TrackingError for exceptions of MLflow and its database; without passwords, which their messages contain.

    An answer that MLflow does not understand may be any exception.

    Args:
        action: what MLflow was asked to do.
    """
    try:
        from mlflow.exceptions import MlflowException
    except ModuleNotFoundError as error:
        raise MissingDependencyError.of_extra(f"MLflow at {without_password(uri)}", "tracking", error) from error
    try:
        yield
    except LayoutrayError:
        raise
    except Exception as error:
        code = error.error_code if isinstance(error, MlflowException) else type(error).__name__
        said = _PASSWORD.sub("", str(error).strip().partition("\n")[0])[:_LONGEST]
        raise TrackingError(f"MLflow at {without_password(uri)} cannot {action}: {code}: {said}", code) from None


class _Client:
    def __init__(self, client: "MlflowClient", uri: str) -> None:
        self._client = client
        self._uri = uri

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        @functools.wraps(method)
        def call(*values: Any, **named: Any) -> Any:
            with translated(self._uri, name.replace("_", " ")):
                return method(*values, **named)

        return call
