"""Where tests find real documents and independent numbers; a newcomer's clone has neither, and tests then skip with the reason."""

import os
from pathlib import Path

import hypothesis
import jaxtyping
import pytest

# Shapes in signatures are checked at run time in all tests; the hook must come before the first import of these packages.
jaxtyping.install_import_hook(["layoutray.tensors", "layoutray.nn", "layoutray.architectures"], "beartype.beartype")

# How long an example takes says more about what else runs on the machine than about the code.
hypothesis.settings.register_profile("layoutray", deadline=None)
hypothesis.settings.load_profile("layoutray")

_REPOSITORY = Path(__file__).resolve().parents[1]


def location(variable: str, default: str) -> Path:
    """The folder that environment variable `variable` names, or `default` beside this repository; it may not exist."""
    return Path(os.environ.get(variable) or _REPOSITORY.parent / "shared" / default)


def _folder(variable: str, default: str) -> Path:
    folder = location(variable, default)
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there; set {variable} to a folder of that kind")
    return folder


@pytest.fixture(scope="session")
def data_root() -> Path:
    """Folder of real data sets in their native formats."""
    return _folder("LAYOUTRAY_DATA", "data")


@pytest.fixture(scope="session")
def oracle_root() -> Path:
    """Folder of independent numeric oracles."""
    return _folder("LAYOUTRAY_ORACLE", "oracle")


@pytest.fixture(scope="session")
def schemas_root() -> Path:
    """Folder of published schemas that no package brings."""
    return _folder("LAYOUTRAY_SCHEMAS", "schemas")
