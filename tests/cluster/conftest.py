"""Where the endpoint's jobs are."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.ledger_places import LedgerPlace


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LedgerPlace]:
    """A place without a ledger."""
    if request.param == "sqlite":
        place = LedgerPlace(str(tmp_path / "jobs.db"))
    else:
        server = request.getfixturevalue("postgresql_server")
        place = LedgerPlace(server.schema(), server)
    yield place
    place.close()
