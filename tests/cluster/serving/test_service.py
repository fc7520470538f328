"""What the service refuses before it calls a replica."""

import asyncio

import pytest

from layoutray.cluster.serving.failures import ApiError
from layoutray.cluster.serving.replicas import ModelDescription
from layoutray.cluster.serving.service import Service
from layoutray.cluster.serving.submission import WordPages
from layoutray.cluster.serving.telemetry import Telemetry
from tests.documents import pages


def test_a_model_that_cannot_explain_says_so_before_it_writes() -> None:
    service = Service(None, None, max_pages_in_ocr=1, telemetry=Telemetry())  # pyright: ignore[reportArgumentType]
    plain = ModelDescription("plain", "1", "/v1/summarize", True, (), {}, {}, explains=False)
    with pytest.raises(ApiError, match="plain has no selection of words; take one that pools") as refusal:
        asyncio.run(service.summarize(WordPages("d", tuple(pages(0))), plain, explain=True))
    assert refusal.value.status == 422
