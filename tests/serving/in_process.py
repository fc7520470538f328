"""The endpoint in this process, without Ray: real routes, keys, jobs, OCR and model; no Serve between them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from ray import serve

from layoutray.cluster.endpoint import replicas, service
from layoutray.cluster.endpoint.ingress import Ingress
from layoutray.cluster.endpoint.page_reader import PageReader
from layoutray.cluster.endpoint.replicas import HeldModels, ModelReplica
from layoutray.cluster.endpoint.versions import Registry
from layoutray.devices import CPU
from layoutray.serving import request_log
from layoutray.serving.model import ModelDescription, Version
from layoutray.serving.settings import ServeSettings


class LocalHandle:
    """Calls a replica of this process as the handle of Serve calls one of another process."""

    def __init__(self, replica: object) -> None:
        self._replica = replica
        self._loop: asyncio.AbstractEventLoop | None = None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._replica, name)

        def remote(*given: object) -> Any:
            self._loop = asyncio.get_running_loop()
            return asyncio.ensure_future(method(*given))

        return SimpleNamespace(remote=remote)

    def broadcast(self, name: str, *given: object) -> Any:
        """Call from another thread, after a first call from the loop of the replica."""
        assert self._loop
        called = asyncio.run_coroutine_threadsafe(getattr(self._replica, name)(*given), self._loop)
        return SimpleNamespace(results=lambda timeout_s: [called.result(timeout_s)])


_FIRST = SimpleNamespace(app_name="layoutray", world_size=1)


@contextmanager
def application(settings: ServeSettings) -> Iterator[FastAPI]:
    """The ASGI application; nothing processes its jobs."""
    with _ingress(settings) as ingress:
        yield ingress.__serve_build_asgi_app__()


@contextmanager
def processing(settings: ServeSettings) -> Iterator[TestClient]:
    """A client of the application, which processes jobs."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(ingress._jobs.run())
        yield
        task.cancel()

    with _ingress(settings) as ingress:
        app = ingress.__serve_build_asgi_app__()
        app.router.lifespan_context = lifespan
        with TestClient(app, base_url="http://127.0.0.1") as client:
            yield client


@contextmanager
def _ingress(settings: ServeSettings) -> Iterator[Ingress]:
    """The ingress. Bytes of files are passed as they are, not through Ray's object store."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(service, "ray", SimpleNamespace(put=lambda data: data))
        patches.setattr(request_log, "write_with_serve", lambda: None)
        patches.setattr(replicas, "write_with_serve", lambda: None)
        patches.setattr(replicas.gpus, "assigned_device", lambda: CPU)
        patches.setattr(serve, "get_replica_context", lambda: _FIRST)
        reader = LocalHandle(PageReader(settings.recognition))
        first = Version(settings.checkpoint, settings.model_version)
        budget = int(settings.model_memory_mib * 2**20)
        held = HeldModels(first=first, fetch=str, beams=1, budget=budget, deadline_s=600)
        model = LocalHandle(ModelReplica(held))
        ingress = Ingress(settings, reader, model, Registry())  # pyright: ignore[reportArgumentType]
        yield ingress
        if ingress._jobs:
            ingress._jobs.ledger.close()


PLAIN = ModelDescription(
    version=Version("plain", "1"),
    model_id="plain",
    model_version="1",
    task="summary",
    path="/v1/summarize",
    writes=True,
    entity_types=(),
    fields={},
    records={},
    explains=False,
    tried_on="a generated page",
)
"""A model that writes and does not pool."""
