"""Where tests find real documents and independent numbers.

A fresh clone has neither. Tests on them then skip with the reason, and one line at the end of the run counts them.
"""

import gc
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import jaxtyping
import pytest

from layoutray.store import node_cache

if TYPE_CHECKING:
    from layoutray.document import Page
    from tests.postgresql import Server
    from tests.serving.ledger_places import LedgerPlace

# Shapes in signatures are checked at run time in all tests; the hook must precede the first import of these packages.
jaxtyping.install_import_hook(["layoutray.tensors", "layoutray.nn", "layoutray.architectures"], "beartype.beartype")

# How long an example takes says more about what else runs on the machine than about the code.
hypothesis.settings.register_profile("layoutray", deadline=None)
hypothesis.settings.load_profile("layoutray")

_REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_configure(config: pytest.Config) -> None:
    """Load the plugin that shares a Ray between tests, and give the tests a node cache of their own."""
    gc.disable()
    config.pluginmanager.import_plugin("tests.cluster.shared_ray")
    cache = tempfile.TemporaryDirectory(prefix="layoutray-cache-")
    os.environ[node_cache.FOLDER] = cache.name
    config.add_cleanup(cache.cleanup)


def pytest_collection_finish() -> None:
    """Exempt what the collection has imported from garbage collection, which took half of the time of the tests.

    The rest is collected after 20,000 new objects, not after 700: this saves another 8 % of the CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50)
    gc.enable()


def location(variable: str, default: str) -> Path:
    """The folder that environment variable `variable` names, or `default` beside this repository; it may not exist."""
    return Path(os.environ.get(variable) or _REPOSITORY.parent / "shared" / default)


def _folder(variable: str, default: str) -> Path:
    folder = location(variable, default)
    if not folder.is_dir():
        pytest.skip(f"{folder} does not exist; set {variable} to a folder of that kind")
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


@pytest.fixture(scope="session")
def trained_on_fields(tmp_path_factory: pytest.TempPathFactory) -> "tuple[Path, list[list[Page]]]":
    """The result of `train_on_fields`, trained once; its data set is the folder `ingested` beside the checkpoint."""
    from tests.documents import train_on_fields

    return train_on_fields(tmp_path_factory.mktemp("fields"))


@pytest.fixture(scope="session")
def trained_on_summaries(tmp_path_factory: pytest.TempPathFactory) -> "tuple[Path, list[list[Page]]]":
    """The result of `train_on_summaries`, trained once; its data set is the folder `ingested` beside the checkpoint."""
    from tests.documents import train_on_summaries

    return train_on_summaries(tmp_path_factory.mktemp("summaries"))


@pytest.fixture(scope="session")
def postgresql_server() -> "Iterator[Server]":
    """A PostgreSQL server, which runs."""
    from tests.postgresql import running

    with running() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[LedgerPlace]":
    """A place for a job ledger, which has none."""
    from tests.serving.ledger_places import LedgerPlace

    server = request.getfixturevalue("postgresql_server") if request.param == "postgresql" else None
    place = LedgerPlace(server.schema() if server else str(tmp_path / "jobs.db"), server)
    yield place
    place.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line how many tests skipped because real data is absent, and where it comes from."""
    if line := skipped_on_real_data(str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(line, yellow=True)


def skipped_on_real_data(reasons: Iterable[str]) -> str:
    """The line that counts those skip reasons that name a variable of this module; empty when none does."""
    named = [found for reason in reasons if (found := re.findall(r"LAYOUTRAY_(?:DATA|ORACLE|SCHEMAS)", reason))]
    if not named:
        return ""
    variables = " and ".join(sorted({variable for found in named for variable in found}))
    what = "1 test" if len(named) == 1 else f"{len(named)} tests"
    return f"{what} on real data skipped: set {variables} as docs/datasets.md, Test data, describes"
