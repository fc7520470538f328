"""What is tried in a process of its own, and how that process ends."""

import json
import logging
import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from layoutray.devices import CPU
from layoutray.serving import trial
from layoutray.serving.model import Loader, Version, VersionError
from tests.cluster.checkpoints import save_untrained


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    save_untrained(folder)
    return folder


def spin(_: str) -> str:
    """Native code that holds the interpreter for years."""
    re.match("(a+)+$", "a" * 60 + "!")
    return ""


def wait(_: str) -> str:
    time.sleep(3600)
    return ""


def die(_: str) -> str:
    os.abort()


def fill(_: str) -> str:
    return "x" * 2**40


def write_much(folder: str, _: str) -> str:
    with Path(folder, "download").open("wb") as file:
        for _ in range(64):
            file.write(bytes(2**16))
    return folder


def refusal(fetch: Callable[[str], str], free: Callable[[], int]) -> str:
    version = Version("one", "1")
    with pytest.raises(VersionError) as refused:
        trial.load_tried(Loader(CPU, fetch, free=free), version)
    assert (refused.value.version, refused.value.code) == (version, "broken")
    return refused.value.message


@pytest.mark.parametrize(
    ("fetch", "said"),
    [
        (spin, "within 1 s of processor time"),
        (wait, "within 2 s"),
        (die, "died of SIGABRT"),
        (fill, r"\(MemoryError\)"),
    ],
)
def test_a_trial_that_takes_too_much_is_ended(
    fetch: Callable[[str], str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_PROCESSOR_SECONDS", 1)
    monkeypatch.setattr(trial, "_SECONDS", 2 if fetch is wait else 300)
    assert re.search(said, refusal(fetch, lambda: 2**40))


def test_a_download_has_no_more_bytes_than_the_memory(tmp_path: Path) -> None:
    assert "OSError" in refusal(partial(write_much, str(tmp_path)), lambda: 2**20)
    assert (tmp_path / "download").stat().st_size == 2**20


def test_a_good_version_passes_and_a_bad_one_is_in_the_log(
    good: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trial.load_tried(Loader(CPU), Version(str(good), "1"))
    assert not caplog.records
    save_untrained(tmp_path)
    stored = json.loads((tmp_path / "tokenizer.json").read_text())
    stored["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}  # makes the library panic
    (tmp_path / "tokenizer.json").write_text(json.dumps(stored))
    with caplog.at_level(logging.ERROR), pytest.raises(VersionError, match="CheckpointError"):
        trial.load_tried(Loader(CPU), Version(str(tmp_path), "2"))
    assert "the tokenizer fails: Precompiled: " in caplog.text
