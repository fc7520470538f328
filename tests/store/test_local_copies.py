"""Copies are fetched once, complete or not at all, and the oldest make room."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from layoutray.store import node_cache
from layoutray.store.node_cache import local_copy


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAYOUTRAY_CACHE", str(tmp_path))
    return tmp_path / "models"


def fetched(folder: Path, size: int = 1) -> Path:
    (folder / "model").mkdir()
    (folder / "model" / "weights").write_bytes(bytes(size))
    return folder / "model"


def slow(folder: Path) -> Path:
    """Notes each call beside the cache."""
    (folder.parents[1] / f"call-{os.getpid()}").touch()
    time.sleep(0.5)
    return fetched(folder)


def copy_slowly(name: str) -> str:
    return str(local_copy(name, slow))


def test_processes_that_ask_at_once_share_one_copy(cache: Path) -> None:
    with get_context("spawn").Pool(3) as pool:
        assert set(pool.map(copy_slowly, ["model-1"] * 3, chunksize=1)) == {str(cache / "model-1")}
    assert len(list(cache.parent.glob("call-*"))) == 1
    assert [path.name for path in cache.iterdir()] == ["model-1"]


def test_a_failed_fetch_leaves_nothing_and_is_repeated(cache: Path) -> None:
    def broken(folder: Path) -> Path:
        fetched(folder)
        raise OSError("link down")

    with pytest.raises(OSError, match="link down"):
        local_copy("model-1", broken)
    assert list(cache.iterdir()) == []
    assert (local_copy("model-1", fetched) / "weights").exists()


def test_a_copy_appears_only_when_it_is_complete(cache: Path) -> None:
    half, going_on = threading.Event(), threading.Event()

    def paused(folder: Path) -> Path:
        made = fetched(folder)
        half.set()
        assert going_on.wait(10)
        return made

    with ThreadPoolExecutor() as pool:
        copying = pool.submit(local_copy, "model-1", paused)
        assert half.wait(10)
        assert not (cache / "model-1").exists()
        going_on.set()
        assert copying.result().is_dir()


def test_the_copies_used_least_recently_make_room(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    for number, hours in (("1", 5), ("2", 3), ("3", 2)):
        folder = local_copy(f"model-{number}", lambda scratch: fetched(scratch, 100))
        os.utime(folder, (now - 3600 * hours,) * 2)
    monkeypatch.setenv(node_cache.GIBIBYTES, str(250 / 2**30))
    (cache / ".tmp-killed").mkdir()
    os.utime(cache / ".tmp-killed", (now - 3600 * 5,) * 2)
    local_copy("model-1", fetched)  # it is there already, and now the newest
    local_copy("model-4", lambda scratch: fetched(scratch, 100))
    assert sorted(path.name for path in cache.iterdir()) == ["model-1", "model-4"]


def test_copies_in_use_stay(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(node_cache.GIBIBYTES, str(1 / 2**30))
    for number in (1, 2):
        local_copy(f"model-{number}", lambda scratch: fetched(scratch, 100))
    assert sorted(path.name for path in cache.iterdir()) == ["model-1", "model-2"]
