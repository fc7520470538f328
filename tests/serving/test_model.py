"""What a replica refuses to serve, and which versions it holds."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from layoutray import checkpoint
from layoutray.devices import CPU
from layoutray.errors import InputError
from layoutray.serving.loaded_versions import LoadedVersions
from layoutray.serving.model import Loader, Version, VersionError
from tests.cluster.checkpoints import save_untrained
from tests.serving.no_trial import no_trial


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_untrained(tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


def refusal(folder: Path) -> tuple[str, str]:
    with pytest.raises(VersionError) as refused:
        Loader(CPU).load(Version(str(folder), "7"))
    assert refused.value.version.label == "7"
    assert str(folder) not in refused.value.message, "the answer of /healthz names no folder"
    return refused.value.code, refused.value.message


def test_a_version_is_tried_on_a_generated_page_or_on_its_own_example(folder: Path) -> None:
    assert Loader(CPU).load(Version(str(folder), "7")).description.tried_on == "a generated page"
    words = [{"text": "TOTAL", "box": [1, 1, 20, 9]}, {"text": "7.90", "box": [30, 1, 60, 9]}]
    body = {"pages": [{"width": 100, "height": 50, "words": words}]}
    (folder / checkpoint.EXAMPLE).write_text(json.dumps(body))
    loaded = Loader(CPU).load(Version(str(folder), "7"))
    assert loaded.description.tried_on == "its own example"
    assert [[word.text for word in page.words] for page in loaded.example] == [["TOTAL", "7.90"]]
    assert (loaded.description.model_version, loaded.description.task) == ("7", "entities")


def test_a_version_that_cannot_be_read_is_broken(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "labels.json").unlink()
    code, message = refusal(folder)
    assert (code, "CheckpointError" in message) == ("broken", True)
    assert "labels.json missing" in caplog.text, "the log says what is wrong"


def test_an_example_that_is_none_is_broken(folder: Path) -> None:
    (folder / checkpoint.EXAMPLE).write_text('{"pages": [{"width": 9}]}')
    assert refusal(folder)[0] == "broken"


def test_weights_that_are_no_numbers_are_broken(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    loaded = checkpoint.load(folder)
    with torch.no_grad():
        next(loaded.model.head.parameters()).view(-1)[0] = torch.nan
    checkpoint.save(folder, loaded)
    assert refusal(folder)[0] == "broken"
    assert "not finite" in caplog.text


def test_weights_larger_than_the_memory_are_not_read(folder: Path) -> None:
    os.truncate(folder / "model.safetensors", 2**43)  # a file with a hole, which takes no space
    code, message = refusal(folder)
    assert code == "too_large"
    assert "it needs 16777216 MiB of memory" in message


def test_versions_are_loaded_once_and_kept_as_asked(tmp_path: Path) -> None:
    fetched: list[str] = []

    def fetch(name: str) -> str:
        fetched.append(name)
        if not (tmp_path / name).is_dir():
            raise InputError(f"there is no {name}")
        return str(tmp_path / name)

    for name in ("one", "two"):
        save_untrained(tmp_path / name)
    one, two, none = Version("one", "1"), Version("two", "2"), Version("none", "3")

    async def check() -> Sequence[str]:
        versions = LoadedVersions(one, Loader(CPU, fetch), 0, no_trial)
        loaded = await asyncio.gather(*(versions.get(two) for _ in range(3)))
        assert len({id(one) for one in loaded}) == 1
        assert versions.served.description.model_version == "1", "a loaded version is not yet the served one"
        await versions.keep([two, one])
        assert versions.served is loaded[0]
        await versions.keep([two])
        with pytest.raises(VersionError):
            await versions.get(none)
        assert versions.served is loaded[0]
        await versions.get(one)
        return fetched

    assert asyncio.run(check()) == ["one", "two", "none", "one"]
