"""The node's copies: fetched once, and never more than the limit."""

import os
import time
from pathlib import Path

import pytest

from layoutray.errors import InputError
from layoutray.store import node_cache
from layoutray.store.node_cache import NodeCache


def never() -> bytes:
    raise AssertionError("fetched again")


def test_a_file_is_fetched_once(tmp_path: Path) -> None:
    first = NodeCache(tmp_path / "cache", 1000).file("a key / of s3://any", lambda: b"content")
    assert first.read_bytes() == b"content"
    assert NodeCache(tmp_path / "cache", 1000).file("a key / of s3://any", never) == first
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0, "documents of others are not for all users"


def test_a_failed_fetch_leaves_nothing(tmp_path: Path) -> None:
    cache = NodeCache(tmp_path, 1000)
    with pytest.raises(AssertionError):
        cache.file("key", never)
    assert list(tmp_path.iterdir()) == []


def test_the_files_unused_for_the_longest_time_are_deleted(tmp_path: Path) -> None:
    cache = NodeCache(tmp_path, 1000)
    for number in range(10):
        file = cache.file(f"{number}", lambda: bytes(100))
        os.utime(file, (number, number))
    cache.file("0", never)  # used just now
    cache.file("new", lambda: bytes(250))
    for key in ("0", "4", "9", "new"):
        cache.file(key, never)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) == 950
    with pytest.raises(AssertionError, match="fetched again"):
        cache.file("3", never)


def test_the_environment_names_folder_and_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(node_cache.FOLDER, str(tmp_path / "mine"))
    assert node_cache.of_this_node().file("key", lambda: b"x").parent == tmp_path / "mine/ranges"
    for wrong in ("0", "-1", "many"):
        monkeypatch.setenv(node_cache.GIBIBYTES, wrong)
        with pytest.raises(InputError, match=f"LAYOUTRAY_CACHE_GIB is '{wrong}'; it must be a positive number"):
            node_cache.of_this_node()


def test_what_a_killed_process_left_is_removed_after_an_hour(tmp_path: Path) -> None:
    for name, hours in ((".tmp-old", 2), (".tmp-new", 0)):
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (time.time() - 3600 * hours,) * 2)
    NodeCache(tmp_path, 1000)
    assert [file.name for file in tmp_path.iterdir()] == [".tmp-new"]
