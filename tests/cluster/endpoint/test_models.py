"""The process of the HTTP routes holds the models and follows versions."""

import asyncio
from pathlib import Path

import pytest

from layoutray.cluster.endpoint import replicas
from layoutray.cluster.endpoint.models import ModelsHere
from layoutray.cluster.endpoint.replicas import BatchResult, HeldModels, ModelReplica, PageRequest
from layoutray.devices import CPU
from layoutray.serving.model import ModelDescription, Version, VersionError
from tests.cluster.checkpoints import save_untrained
from tests.jobs import pages


def test_versions_are_loaded_and_unloaded_while_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas, "write_with_serve", lambda: None)
    monkeypatch.setattr(replicas.gpus, "assigned_device", lambda: CPU)
    save_untrained(tmp_path / "1")
    save_untrained(tmp_path / "2", seed=2)
    first, second, missing = (Version(str(tmp_path / name), name) for name in ("1", "2", "3"))
    (page,) = pages(1)

    async def check() -> None:
        replica = ModelReplica(HeldModels(first=first, fetch=str, beams=1, budget=0, deadline_s=60))
        models = ModelsHere(replica)
        described = await asyncio.to_thread(models.describe_now)
        assert (described, described.version) == (await models.describe(), first)
        offered = await asyncio.to_thread(models.load_everywhere, second)
        assert isinstance(offered, ModelDescription)
        answered = await models.answer([PageRequest(first, page), PageRequest(second, page)])
        assert [type(one) for one in answered] == [BatchResult, BatchResult]
        await asyncio.to_thread(models.keep, second)
        assert replica._versions.in_memory(first) is None
        assert (await models.describe()).version == second
        refused = await asyncio.to_thread(models.load_everywhere, missing)
        assert isinstance(refused, VersionError)
        await models.check_health()

    asyncio.run(check())
