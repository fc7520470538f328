"""Where a run comes from: the command, the person and the commit, as tags that MLflow's UI knows."""

import getpass
from pathlib import Path

from mlflow.utils import mlflow_tags
from mlflow.utils.git_utils import get_git_commit

COMMAND = "command"
"""Tag with the command that makes the run again."""


def tags(command: str) -> dict[str, str]:
    """Tags of a run that `command` has started: source, command, login name and commit, those that are known.

    Args:
        command: `layoutray VERB ...` in a shell, or `layoutray.VERB(...)` in Python.
    """
    known = {
        mlflow_tags.MLFLOW_SOURCE_NAME: " ".join(command.partition("(")[0].split()[:2]),
        mlflow_tags.MLFLOW_SOURCE_TYPE: "LOCAL",
        COMMAND: command,
        mlflow_tags.MLFLOW_USER: _login_name(),
        mlflow_tags.MLFLOW_GIT_COMMIT: _commit(),
    }
    return {name: value for name, value in known.items() if value}


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return ""


def _commit() -> str:
    """Of the repository from which layoutray is used; empty if it is installed from a wheel."""
    here = Path(__file__)
    return "" if "site-packages" in here.parts else get_git_commit(str(here)) or ""
