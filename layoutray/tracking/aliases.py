"""The aliases of a registered model: which version serves, and how to go back.

`layoutray finetune --register` gives the newest version the alias `candidate`. `promote` moves the alias `champion`,
which endpoints follow. A tag of the registered model lists the versions that were champion before, for `rollback`.
"""

import json

from mlflow.tracking import MlflowClient

from layoutray.errors import InputError
from layoutray.tracking import registered
from layoutray.tracking.registered import CHAMPION

FORMER = "layoutray.former_champions"
"""Tag of a registered model: a JSON list of version numbers, the last champion at the end."""


def promote(name: str, version: str, uri: str) -> None:
    """Make `version` the champion of model `name`. Raises InputError when the registry refuses."""
    with registered.refused(f"models:/{name}", uri):
        client = MlflowClient(tracking_uri=uri)
        present = _champion(name, uri)
        if present == version:
            return
        if present:
            client.set_registered_model_tag(name, FORMER, json.dumps([*_former(name, uri), present]))
        client.set_registered_model_alias(name, CHAMPION, version)


def rollback(name: str, uri: str) -> tuple[str, str]:
    """Make the former champion of model `name` the champion again.

    Returns:
        The version that was champion, and the one that is it now.

    Raises:
        InputError: when there is no former champion, or the registry refuses.
    """
    with registered.refused(f"models:/{name}", uri):
        client = MlflowClient(tracking_uri=uri)
        *earlier, last = _former(name, uri) or [""]
        if not last:
            raise InputError(f"no version of {name} was champion before the present one; move the alias in MLflow")
        present = _champion(name, uri)
        client.get_model_version(name, last)
        client.set_registered_model_alias(name, CHAMPION, last)
        client.set_registered_model_tag(name, FORMER, json.dumps(earlier))
    return present, last


def _champion(name: str, uri: str) -> str:
    """Number of the present champion; empty if there is none."""
    return str(MlflowClient(tracking_uri=uri).get_registered_model(name).aliases.get(CHAMPION, ""))


def _former(name: str, uri: str) -> list[str]:
    return json.loads(MlflowClient(tracking_uri=uri).get_registered_model(name).tags.get(FORMER, "[]"))
