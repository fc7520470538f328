"""A database of a real PostgreSQL server: restarts lose and double nothing, and transactions follow each other."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
from sqlalchemy import func, insert, select, text

from layoutray.errors import InputError
from layoutray.serving.jobs import postgresql
from layoutray.serving.jobs.postgresql import ServerDatabase, open_server
from layoutray.serving.jobs.tables import WEBHOOK_SECRETS
from layoutray.store.database import DatabaseError
from tests.postgresql import PASSWORD, Server


@pytest.fixture
def address(postgresql_server: Server) -> str:
    return postgresql_server.schema()


@pytest.fixture
def database(address: str) -> Iterator[ServerDatabase]:
    with closing(open_server(address)) as database:
        yield database


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt to connect may follow the last one at once."""
    monkeypatch.setattr(postgresql, "_PAUSE_SECONDS", 0.0)


def add(database: ServerDatabase, *words: str) -> None:
    add_all(database, words)


def add_all(database: ServerDatabase, words: Iterable[str]) -> None:
    """Store words, as owners of secrets."""
    with database.transaction() as connection:
        for word in words:
            connection.execute(insert(WEBHOOK_SECRETS).values(owner=word, secret=""))


def claim_at_last(database: ServerDatabase) -> None:
    """Claim a database as soon as the server has noticed that another connection has ended."""
    for attempt in range(100):
        if database.claim():
            break
        assert attempt < 99
        time.sleep(0.05)


def words(database: ServerDatabase) -> list[str]:
    return [row["owner"] for row in database.rows(select(WEBHOOK_SECRETS).order_by(WEBHOOK_SECRETS.c.owner))]


def test_a_transaction_is_whole_or_nothing(database: ServerDatabase) -> None:
    def broken() -> Iterator[str]:
        yield "b"
        raise OSError("the upload is gone")

    add(database, "a")
    with pytest.raises(OSError, match="gone"):
        add_all(database, broken())
    with pytest.raises(DatabaseError, match="duplicate key") as caught:
        add(database, "secretword", "secretword")
    assert "secretword" not in str(caught.value), "no message has a value of a row"
    assert words(database) == ["a"]


def test_a_restart_between_two_uses_is_not_noticed(database: ServerDatabase, postgresql_server: Server) -> None:
    add(database, "a")
    for use in (lambda: add(database, "b"), lambda: words(database)):
        postgresql_server.restart()
        use()
    assert words(database) == ["a", "b"]


def test_a_transaction_that_a_restart_ends_stores_nothing(database: ServerDatabase, postgresql_server: Server) -> None:
    def restarted(*more: str) -> Iterator[str]:
        yield "lost"
        postgresql_server.restart()
        yield from more

    for rows in (restarted(), restarted("lost too")):
        with pytest.raises(DatabaseError):
            add_all(database, rows)
    assert words(database) == []
    add(database, "a")
    assert words(database) == ["a"]


@pytest.mark.usefixtures("soon")
def test_while_the_server_is_down_each_use_fails_and_then_all_goes_on(
    database: ServerDatabase, postgresql_server: Server
) -> None:
    add(database, "a")
    with postgresql_server.stopped():
        for use in (words, add, words, add):
            with pytest.raises(DatabaseError):
                use(database)
    add(database, "c")
    assert words(database) == ["a", "c"]


def test_those_that_wait_behind_a_failed_attempt_to_connect_fail_at_once(
    database: ServerDatabase, postgresql_server: Server
) -> None:
    with postgresql_server.stopped():
        for message in ("connection", "a moment ago"):
            with pytest.raises(DatabaseError, match=message):
                words(database)


def test_transactions_of_several_processes_follow_each_other(address: str) -> None:
    def count(_: int) -> None:
        with closing(open_server(address)) as database:
            for _ in range(20):
                with database.transaction() as connection:
                    number = connection.scalar(select(func.count()).select_from(WEBHOOK_SECRETS))
                    connection.execute(insert(WEBHOOK_SECRETS).values(owner=str(number), secret=""))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count, range(4)))
    with closing(open_server(address)) as database:
        assert len(words(database)) == 80


def test_a_transaction_that_waits_too_long_for_another_fails(
    database: ServerDatabase, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "_SESSION", ("lock_timeout=50ms",))
    with closing(open_server(address)) as second:
        with database.transaction() as connection:
            connection.execute(insert(WEBHOOK_SECRETS).values(owner="a", secret=""))
            with pytest.raises(DatabaseError, match="lock timeout"):
                add(second, "b")
            assert words(second) == [], "reading does not wait"
        add(second, "c")
        assert words(database) == ["a", "c"]


def test_one_process_claims_a_database_until_its_connection_ends(database: ServerDatabase, address: str) -> None:
    assert database.claim()
    assert database.claim()
    with closing(open_server(address)) as second:
        assert not second.claim()
        add(second, "a")
        assert words(database) == ["a"], "others may write"
        database.close()
        claim_at_last(second)


def test_a_claim_is_one_of_a_schema(database: ServerDatabase, postgresql_server: Server) -> None:
    assert database.claim()
    with closing(open_server(postgresql_server.schema())) as other:
        assert other.claim()


def test_after_a_restart_another_may_claim(database: ServerDatabase, address: str, postgresql_server: Server) -> None:
    assert database.claim()
    postgresql_server.restart()
    with closing(open_server(address)) as second:
        assert second.claim()
        assert words(database) == []
        assert not database.claim()
    claim_at_last(database)


def test_processes_that_start_together_create_the_tables_once(address: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        databases = list(threads.map(lambda _: open_server(address), range(8)))
    assert [words(one) for one in databases] == [[]] * 8
    for one in databases:
        one.close()


def refused(address: str) -> str:
    with pytest.raises(InputError) as caught:
        open_server(address)
    return str(caught.value)


def test_a_database_with_other_tables_or_another_version_is_refused(address: str, postgresql_server: Server) -> None:
    postgresql_server.execute("CREATE TABLE customers (name TEXT)", address)
    assert "has other tables (customers), but no job ledger; give an empty database" in refused(address)
    later = postgresql_server.schema()
    open_server(later).close()
    postgresql_server.execute("UPDATE layoutray_job_ledger SET version = 4", later)
    assert "is a job ledger of version 4; this layoutray uses version 2" in refused(later)


def test_a_database_that_cannot_hold_all_characters_is_refused(postgresql_server: Server) -> None:
    latin = postgresql_server.database("ENCODING LATIN1 TEMPLATE template0")
    assert "has the encoding LATIN1; create it with UTF8" in refused(latin)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (
            "postgresql://127.0.0.1:1/jobs",
            "postgresql://127.0.0.1:1/jobs cannot be opened as a job ledger: connection failed",
        ),
        ("postgresql://u:secret@127.0.0.1:1/jobs", "has a password, which everybody on this machine can read"),
        ("postgresql://u@127.0.0.1:1/jobs?password=secret", "has a password"),
        ("postgresql://127.0.0.1:1/jobs?sslpassword=secret", "has a password"),
        ("postgresql://localhost:sec/ret@127.0.0.1:1/jobs", "of the form postgresql://USER@HOST:PORT/DATABASE"),
        ("postgresql://u:se%cret@127.0.0.1:1/jobs", "is not an address"),
        ("postgresql://127.0.0.1/jobs?unknown=secret", "is not an address"),
    ],
)
def test_an_address_that_is_none_or_has_a_password_is_refused_without_saying_it(address: str, message: str) -> None:
    said = refused(address)
    assert message in said
    assert "sec" not in said


def test_the_password_comes_from_the_environment_or_a_file(
    postgresql_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = f"postgresql://layoutray@127.0.0.1:{postgresql_server.port}/postgres"
    schema = postgresql_server.schema().rpartition("?")[2]
    assert "no password supplied" in refused(at)
    monkeypatch.setenv("PGPASSWORD", "wrong-password")
    said = refused(at)
    assert "password authentication failed" in said
    assert "PGPASSWORD or ~/.pgpass" in said
    assert "wrong-password" not in said
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    open_server(f"{at}?{schema}").close()
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "passwords"
    file.write_text(f"127.0.0.1:*:*:layoutray:{PASSWORD}\n")
    file.chmod(0o600)
    open_server(f"{at}?{schema}&{urlencode({'passfile': file})}").close()


def test_a_user_who_may_not_create_tables_is_told(postgresql_server: Server) -> None:
    postgresql_server.execute("CREATE ROLE reader LOGIN")
    said = refused(postgresql_server.database().replace("layoutray@", "reader@"))
    assert "permission denied for schema public" in said
    assert "belong to the user" in said


def test_what_is_committed_is_on_the_disk_whatever_the_server_says(database: ServerDatabase, address: str) -> None:
    (found,) = database.rows(text("SHOW synchronous_commit"))
    assert found["synchronous_commit"] == "on"
    (path,) = database.rows(select(func.current_schema().label("name")))
    assert address.endswith(path["name"]), "options of the address stay"
