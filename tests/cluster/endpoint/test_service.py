"""What the service refuses before it calls a replica."""

import asyncio

import pytest

from layoutray.cluster.endpoint.service import Service
from layoutray.errors import ApiError
from layoutray.serving.capacity import Capacity
from layoutray.serving.model import ModelDescription, Version
from layoutray.serving.page_cache import PageCache
from layoutray.serving.submission import WordPages
from layoutray.serving.telemetry import Telemetry
from tests.documents import pages


def test_a_model_that_cannot_explain_says_so_before_it_writes() -> None:
    service = Service(None, None, {}, Capacity(1, 1, 1), PageCache(0), Telemetry())  # pyright: ignore[reportArgumentType]
    plain = ModelDescription(
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
    with pytest.raises(ApiError, match="plain has no selection of words; take one that pools") as refusal:
        asyncio.run(service.answer(WordPages("d", tuple(pages(0))), plain, explain=True))
    assert refusal.value.status == 422
