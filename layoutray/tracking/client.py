"""MLflow's client. It is made only if its server answers, and each exception of MLflow becomes a TrackingError."""

import functools
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from layoutray.errors import MissingDependencyError, TrackingError
from layoutray.tracking import stores
from layoutray.tracking.stores import without_password

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")
_LONGEST = 300
"""Characters of MLflow's own message in an error."""


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


@contextmanager
def translated(uri: str, action: str) -> Generator[None]:
    """Raise TrackingError for exceptions of MLflow and its database; without passwords, which their messages contain.

    Args:
        action: what MLflow was asked to do.
    """
    try:
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError
    except ModuleNotFoundError as error:
        raise MissingDependencyError.of_extra(f"MLflow at {without_password(uri)}", "tracking", error) from error
    try:
        yield
    except (MlflowException, SQLAlchemyError) as error:
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
