"""A ledger is a file or a database of PostgreSQL, with the same tables; anything else is refused."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from layoutray.errors import InputError, MissingDependencyError
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.records import JobFile, Submission
from layoutray.store.database import DatabaseError
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


CONTENT = b"secret content of a document "


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Path, str]:
    """The file of a ledger with a job of three documents, and its id."""
    file = tmp_path / "jobs.db"
    files = [JobFile(f"{number}.png", str(number), lambda: CONTENT * 100) for number in range(3)]
    with closing(Ledger.open(str(file))) as ledger:
        job, _ = ledger.add(Submission(owner="acme", options={"words": False}, files=files), 10)
    return file, job


@pytest.mark.parametrize("damage", ["random", "cut", "zeros"])
def test_a_damaged_file_is_refused_with_what_to_do(filled: tuple[Path, str], damage: str) -> None:
    file, size = filled[0], filled[0].stat().st_size
    if damage == "cut":
        os.truncate(file, size // 2)
    else:
        file.write_bytes(bytes(size) if damage == "zeros" else Random(0).randbytes(size))
    with pytest.raises(
        InputError, match=r"jobs\.db cannot be .*; the file is damaged: restore it from a backup, or move"
    ):
        Ledger.open(str(file))
    Ledger.open(str(file.with_name("other.db"))).close()


def test_a_page_of_random_bytes_is_an_error_of_the_database_without_text_of_documents(
    filled: tuple[Path, str], tmp_path: Path
) -> None:
    file, job = filled
    content, damaged, errors = file.read_bytes(), tmp_path / "damaged.db", list[str]()
    for begin in range(0, len(content), 4096):
        noise = Random(begin).randbytes(4096 - 100)
        damaged.write_bytes(content[: begin + 100] + noise + content[begin + 4096 :])
        for call in (
            lambda ledger: ledger.status(job),
            lambda ledger: ledger.next((), "acme"),
            lambda ledger: ledger.delete_ended(1.0),
            lambda ledger: list(ledger.results(job, 0, 10)),
            lambda ledger: ledger.delete(job),
        ):
            try:
                with closing(Ledger.open(str(damaged))) as ledger:
                    call(ledger)
            except (InputError, DatabaseError) as error:
                errors.append(str(error))
        for name in ("damaged.db-wal", "damaged.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
    assert len(errors) > 20
    assert not [error for error in errors if "secret" in error]


def test_a_text_that_is_not_utf_8_is_not_quoted(filled: tuple[Path, str]) -> None:
    file, _ = filled
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE documents SET content = CAST(x'ff' || 'secret words' AS TEXT)")
    with closing(Ledger.open(str(file))) as ledger, pytest.raises(DatabaseError, match="Could not decode") as failed:
        ledger.next((), "acme")
    assert "secret" not in str(failed.value)


def test_a_log_of_random_bytes_loses_nothing_that_is_in_the_file(filled: tuple[Path, str]) -> None:
    file, job = filled
    file.with_name("jobs.db-wal").write_bytes(Random(0).randbytes(50_000))
    with closing(Ledger.open(str(file))) as ledger:
        ledger.check()
        assert ledger.status(job)
