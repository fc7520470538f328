"""Which models a replica unloads for another one."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from layoutray.devices import CPU
from layoutray.serving.loaded_versions import LoadedVersions
from layoutray.serving.model import Loader, Version, VersionError, weights_bytes
from tests.cluster.checkpoints import save_untrained
from tests.serving.no_trial import no_trial

DEFAULT, A, B, C = (Version(name, "1", name) for name in ("", "a", "b", "c"))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name in ("", "a", "b", "c"):
        save_untrained(folder / f"model-{name}")
    return folder


def run(root: Path, models: float, check: Callable[[LoadedVersions, list[str]], Awaitable[None]]) -> None:
    """Run `check` on versions with room for so many `models`; it is given the names of those that were loaded."""
    fetched: list[str] = []

    def fetch(name: str) -> str:
        fetched.append(name)
        return str(root / f"model-{name}")

    async def checked() -> None:
        budget = int(models * weights_bytes(str(root / "model-a")))
        await check(LoadedVersions(DEFAULT, Loader(CPU, fetch), budget, no_trial), fetched)

    asyncio.run(checked())


def in_memory(versions: LoadedVersions) -> str:
    return "".join(version.name for version in (A, B, C) if versions.in_memory(version))


async def use(versions: LoadedVersions, *wanted: Version) -> None:
    for version in wanted:
        async with versions.use(version) as loaded:
            assert loaded.description.model_id == version.name


def test_the_model_that_was_not_used_for_the_longest_time_is_unloaded(root: Path) -> None:
    async def check(versions: LoadedVersions, _: list[str]) -> None:
        await use(versions, A, B, A, C)
        assert in_memory(versions) == "ac"
        await use(versions, B)
        assert in_memory(versions) == "bc"
        assert versions.in_memory(DEFAULT), "the default model does not count"

    run(root, 2.5, check)


def test_a_model_that_answers_is_not_unloaded(root: Path) -> None:
    async def check(versions: LoadedVersions, _: list[str]) -> None:
        async with versions.use(A):
            with pytest.raises(VersionError) as refused:
                await versions.get(B)
            assert (refused.value.code, refused.value.version) == ("no_room", B)
            assert "of the " in refused.value.message
        await use(versions, B)
        assert in_memory(versions) == "b"

    run(root, 1.5, check)


def test_a_model_larger_than_the_budget_unloads_nothing(root: Path) -> None:
    async def check(versions: LoadedVersions, _: list[str]) -> None:
        with pytest.raises(VersionError) as refused:
            await versions.get(A)
        assert refused.value.code == "too_large"
        assert "all models but the default one may take" in refused.value.message

    run(root, 0.5, check)


def test_another_version_of_a_model_replaces_the_others_when_it_is_kept(root: Path) -> None:
    async def check(versions: LoadedVersions, _: list[str]) -> None:
        second = Version("b", "2", "a")
        for version in (A, C, second):
            await versions.get(version)
        await versions.keep([second])
        assert in_memory(versions) == "c"
        assert versions.in_memory(second)
        await versions.keep([A])
        assert in_memory(versions) == "c", "a model that is not the default one is loaded on demand only"
        assert versions.served.description.version == DEFAULT

    run(root, 3.5, check)


def test_a_load_goes_on_when_nobody_waits_for_it_any_more(root: Path) -> None:
    async def check(versions: LoadedVersions, fetched: list[str]) -> None:
        first = asyncio.create_task(versions.get(A))
        await asyncio.sleep(0)
        first.cancel()
        await versions.get(A)
        assert fetched == ["", "a", "a"], "once to measure, once to load"

    run(root, 1, check)
