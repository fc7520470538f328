"""Keys: what is stored of them, what they allow, and how processes share their file."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.errors import InputError
from layoutray.serving.access import keys
from layoutray.serving.access.keys import Key, KeyStore


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.db"


@pytest.fixture
def store(file: Path) -> KeyStore:
    return KeyStore.open(str(file), create=True)


@pytest.fixture(scope="module")
def one_key(tmp_path_factory: pytest.TempPathFactory) -> KeyStore:
    store = KeyStore.open(str(tmp_path_factory.mktemp("keys") / "keys.db"), create=True)
    store.create("acme", ["extract"])
    return store


def found(store: KeyStore, text: str) -> Key:
    key = store.find(text)
    assert key is not None
    return key


def test_a_key_is_found_by_its_text_and_its_text_is_nowhere(store: KeyStore, file: Path) -> None:
    text = store.create("acme", ["extract", "jobs"], 100, 5)
    key = found(store, text)
    assert (key.name, key.scopes, key.pages_per_day, key.requests_per_minute) == ("acme", ("extract", "jobs"), 100, 5)
    store.close()
    secret = text.rpartition("_")[2].encode()
    assert len(secret) == 64
    assert [one.name for one in file.parent.iterdir() if secret in one.read_bytes()] == []
    assert file.stat().st_mode & 0o077 == 0, "for its owner only"


@given(st.text())
def test_no_other_text_is_a_key(one_key: KeyStore, other: str) -> None:
    assert [one_key.find(text) for text in (other, f"layoutray_acme_{other}", f"layoutray_{other}_")] == [None] * 3


def test_a_key_of_one_name_does_not_open_another(store: KeyStore) -> None:
    first, second = store.create("first", ["extract"]), store.create("second", ["admin"])
    assert store.find(first.replace("first", "second")) is None
    assert store.find(second[:-1]) is None
    assert store.find(f" {second}") is None
    assert found(store, second).name == "second"


def test_a_key_that_another_process_revokes_is_refused_at_once(store: KeyStore, file: Path) -> None:
    text = store.create("acme", ["extract"])
    assert store.find(text)
    command = [sys.executable, "-m", "layoutray.cli", "keys", "revoke", "acme", "--keys", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    assert store.find(text) is None
    when = store.list()[0].revoked
    store.revoke("acme")
    assert store.list()[0].revoked == when, "the first time counts"
    with pytest.raises(InputError, match="there is or was a key acme"):
        store.create("acme", ["extract"])


def test_admin_includes_the_other_scopes() -> None:
    admin, reader = (
        Key(name="k", scopes=scopes, pages_per_day=None, requests_per_minute=None, created=0.0)
        for scopes in (("admin",), ("extract",))
    )
    assert admin.may(["jobs"])
    assert reader.may(["jobs", "extract"])
    assert not reader.may(["jobs"])


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a b", "a/../b", "ä", "a" * 65, "a\n"])
def test_a_name_that_could_be_misread_is_refused(store: KeyStore, name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a key"):
        store.create(name, ["extract"])


def test_threads_and_processes_together_take_no_more_pages_than_there_are(store: KeyStore, file: Path) -> None:
    key = found(store, store.create("acme", ["extract"], pages_per_day=100))
    other = KeyStore.open(str(file))
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda at: (store, other)[at % 2].take_pages(key, 3, "2026-01-01"), range(60)))
    assert taken.count(None) == 33
    assert set(taken) == {None, 1}
    store.return_pages(key, 3, "2026-01-01")
    assert store.take_pages(key, 4, "2026-01-01") is None
    assert store.take_pages(key, 101, "2026-01-02") == 100, "a new day, and all or none"


def test_pages_of_a_key_without_quota_are_counted_too(store: KeyStore) -> None:
    key = found(store, store.create("acme", ["extract"]))
    assert store.take_pages(key, 10**6, keys.today()) is None
    assert store.list()[0].pages_today == 10**6


def test_a_minute_has_so_many_requests_and_they_come_back_evenly(
    store: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = found(store, store.create("acme", ["extract"], requests_per_minute=4))
    now = 1_000_000.0
    monkeypatch.setattr(keys.time, "time", lambda: now)
    assert [store.take_request(key) for _ in range(6)] == [0, 0, 0, 0, pytest.approx(15), pytest.approx(15)]
    now += 15
    assert [store.take_request(key) for _ in range(2)] == [0, pytest.approx(15)]
    now += 3600
    assert [store.take_request(key) > 0 for _ in range(5)] == [False] * 4 + [True]
    now -= 86400
    assert [store.take_request(key) > 0 for _ in range(5)] == [False] * 4 + [True], "a clock that was put back"


def test_a_file_of_another_version_or_kind_is_refused_by_name_and_left_alone(store: KeyStore, file: Path) -> None:
    store.close()
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"keys\.db is a key file of version 7; this layoutray uses version 2"):
        KeyStore.open(str(file))
    assert file.read_bytes() == before


def test_keys_of_a_file_from_before_there_were_teams_are_in_none(store: KeyStore, file: Path) -> None:
    text = store.create("acme", ["review"])
    store.close()
    with sqlite3.connect(file) as connection:
        connection.executescript("ALTER TABLE keys DROP COLUMN team; PRAGMA user_version = 1")
    connection.close()
    store = KeyStore.open(str(file))
    assert (found(store, text).team, found(store, text).owner) == ("", "acme")
    team = found(store, store.create("anna", ["review"], team="acme"))
    assert team.owner == found(store, store.create("bert", ["review"], team="acme")).owner
    assert team.owner != "acme", "a team is not the key of the same name"
    with pytest.raises(InputError, match="'A b' cannot be the name of a team"):
        store.create("carl", ["review"], team="A b")


def test_a_file_that_is_no_key_file_is_refused(file: Path) -> None:
    with pytest.raises(InputError, match=r"keys\.db does not exist; give a key file"):
        KeyStore.open(str(file))
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE mine (a)")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(InputError, match="is a SQLite file, but not a key file"):
        KeyStore.open(str(file), create=True)
    assert file.read_bytes() == before
    file.write_bytes(b"name,key\n" * 100)
    with pytest.raises(InputError, match="cannot be opened as a key file: file is not a database"):
        KeyStore.open(str(file), create=True)
    file.unlink()
    file.mkdir()
    with pytest.raises(InputError, match="cannot be opened as a key file"):
        KeyStore.open(str(file), create=True)
