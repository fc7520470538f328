"""The endpoint over real HTTP, and what to send there."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import httpx
from PIL import Image

from layoutray.cluster.endpoint.application import running
from layoutray.cluster.endpoint.versions import NO_REGISTRY, Registry
from layoutray.serving.settings import ServeSettings
from layoutray.synthetic.render import render_page


@contextmanager
def serving(
    settings: ServeSettings, registry: Registry = NO_REGISTRY, name: str = "layoutray"
) -> Iterator[httpx.Client]:
    """A client of the endpoint, on the connected Ray."""
    with running(settings, name, registry) as url, httpx.Client(base_url=url, timeout=120) as client:
        yield client


def rendered() -> tuple[Image.Image, list[dict[str, Any]]]:
    image, annotation = render_page(Random("served"))
    return image, annotation["words"]


def as_request(image: Image.Image, words: list[dict[str, Any]]) -> dict[str, Any]:
    plain = [{"text": word["text"], "box": list(word["box"])} for word in words]
    return {"pages": [{"width": image.width, "height": image.height, "words": plain}]}


def refused(response: httpx.Response, status: int, code: str) -> str:
    """The message of a refusal, once its status, code and shape are checked."""
    assert (response.status_code, response.json()["error"]["code"]) == (status, code), response.text
    assert set(response.json()) == {"error"}
    assert set(response.json()["error"]) == {"code", "message", "retryable"}
    return response.json()["error"]["message"]


def measured(client: httpx.Client) -> dict[str, float]:
    response = client.get("/metrics")
    assert response.status_code == 200, response.text
    lines = (line.rpartition(" ") for line in response.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


async def gathered(url: httpx.URL, requests: list[dict[str, Any]]) -> list[httpx.Response]:
    """The answers to requests that are sent together."""
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        return await asyncio.gather(*(client.post(**request) for request in requests))
