"""A ledger is a file or a database of PostgreSQL, with the same tables; anything else is refused."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from layoutray.errors import InputError, MissingDependencyError
from layoutray.serving.jobs.ledger import Ledger
from tests.serving.ledger_places import LedgerPlace

if TYPE_CHECKING:
    from tests.postgresql import Server


def columns(place: LedgerPlace) -> set[tuple[str, str]]:
    """The tables of the ledger, and their columns."""
    rows = place.open().database.rows
    if place.server:
        query = "SELECT table_name AS name, column_name AS part FROM information_schema.columns WHERE table_schema = "
        return {(row["name"], row["part"]) for row in rows(f"{query} current_schema()") if row["part"] != "version"}
    tables = [row["name"] for row in rows("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    found = {(table, row["name"]) for table in tables for row in rows(f"PRAGMA table_info({table})")}
    return {(table, part) for table, part in found if not table.startswith("sqlite_")}


@pytest.fixture
def on_server(postgresql_server: "Server") -> Iterator[LedgerPlace]:
    with closing(LedgerPlace(postgresql_server.schema(), postgresql_server)) as place:
        yield place


def test_both_databases_have_the_same_tables(on_server: LedgerPlace, tmp_path: Path) -> None:
    with closing(LedgerPlace(str(tmp_path / "jobs.db"))) as in_file:
        found = columns(in_file)
    assert ("documents", "data") in found
    assert found == columns(on_server)


def test_an_address_of_another_kind_is_refused_without_its_password() -> None:
    with pytest.raises(InputError, match="a job ledger cannot be at an address mysql://; give a file, or") as caught:
        Ledger.open("mysql://user:secretword@host/jobs")
    assert "secretword" not in str(caught.value)


def test_without_the_driver_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "layoutray.serving.jobs.postgresql", raising=False)
    with pytest.raises(MissingDependencyError, match=r"pip install \'layoutray\[postgresql\]\'"):
        Ledger.open("postgresql://host/jobs")


def test_a_second_endpoint_is_refused_until_the_first_has_ended(place: LedgerPlace) -> None:
    first, second = place.open(), place.open()
    first.check(patience_s=0)
    first.check(patience_s=0)
    with pytest.raises(InputError, match="another endpoint processes the jobs of this ledger; end it"):
        second.check(patience_s=0)
    with second.database.transaction():
        pass  # it may accept jobs
    first.close()
    second.check()


HOLDER = """
import sys
from layoutray.serving.jobs.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
print(ledger.database.claim(), flush=True)
sys.stdin.read()
"""


def test_the_claim_of_a_killed_process_ends(place: LedgerPlace) -> None:
    ledger = place.open()
    command = [sys.executable, "-c", HOLDER, place.address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"True\n"
        with pytest.raises(InputError, match="another endpoint"):
            ledger.check(patience_s=0)
        holder.kill()
        holder.wait()
    ledger.check()


def test_a_file_is_claimed_whatever_its_path(tmp_path: Path) -> None:
    with closing(Ledger.open(str(tmp_path / "jobs.db"))) as ledger:
        ledger.check()
        (tmp_path / "link.db").symlink_to(tmp_path / "jobs.db")
        with (
            closing(Ledger.open(str(tmp_path / "link.db"))) as linked,
            closing(Ledger.open(str(tmp_path / "other.db"))) as other,
        ):
            assert not linked.database.claim()
            assert other.database.claim()


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    Ledger.open(str(tmp_path / "jobs.db")).close()
    ledger = Ledger.open(str(tmp_path / "jobs.db"))
    with ledger.database.connection() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    with pytest.raises(InputError, match="cannot be written: attempt to write a readonly database"):
        ledger.check(patience_s=0)
