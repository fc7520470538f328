"""The endpoint in this process, without Ray: real routes, keys, jobs, OCR and model; no Serve between them."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI

from layoutray.answers import Entity
from layoutray.cluster import serve
from layoutray.cluster.serve import Ingress, ServeSettings
from layoutray.cluster.serving import service
from layoutray.cluster.serving.model_version import ModelDescription, Version, load_version
from layoutray.cluster.serving.page_reader import PageReader
from layoutray.cluster.serving.replicas import BatchResult, PageRequest
from layoutray.devices import CPU
from layoutray.document import Page
from layoutray.inference import Extractor


class LocalModel:
    """A replica that answers one page after the other."""

    def __init__(self, version: Version) -> None:
        self._loaded = load_version(version, str, 1, CPU)

    async def describe(self) -> ModelDescription:
        return self._loaded.description

    async def answer(self, requests: Sequence[PageRequest]) -> list[BatchResult[tuple[Entity, ...]]]:
        return [self._answer(request.page) for request in requests]

    def _answer(self, page: Page) -> BatchResult[tuple[Entity, ...]]:
        assert isinstance(self._loaded.model, Extractor)
        started = time.perf_counter()
        (entities,) = self._loaded.model.extract([page])
        return BatchResult(entities, time.perf_counter() - started, 1)


class LocalHandle:
    """Calls a replica of this process as the handle of Serve calls one of another process."""

    def __init__(self, replica: object) -> None:
        self._replica = replica

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._replica, name)
        return SimpleNamespace(remote=lambda *given: asyncio.ensure_future(method(*given)))


@contextmanager
def application(settings: ServeSettings) -> Iterator[FastAPI]:
    """The ASGI application. Bytes of files are passed as they are, not through Ray's object store."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(service, "ray", SimpleNamespace(put=lambda data: data))
        patches.setattr(serve.request_log, "write_with_serve", lambda: None)
        reader = LocalHandle(PageReader(settings.recognition))
        model = LocalHandle(LocalModel(Version(settings.checkpoint, settings.model_version)))
        yield Ingress(settings, reader, model, None).__serve_build_asgi_app__()  # pyright: ignore[reportArgumentType]
