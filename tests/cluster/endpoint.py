"""The endpoint over real HTTP, and what to send there."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import httpx
import ray
from PIL import Image
from ray import serve

from layoutray.cluster.serve import ServeSettings, running
from layoutray.readers.synthetic_render import render_page


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serving(settings: ServeSettings) -> Iterator[httpx.Client]:
    """A client of the endpoint, on a Ray of its own."""
    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=300 * 2**20,
        logging_level="ERROR",
        log_to_driver=False,
    )
    try:
        with running(settings) as url, httpx.Client(base_url=url, timeout=120) as client:
            yield client
    finally:
        # Or its client of this Ray's Serve is taken for that of the next, whose first job has the same id.
        serve.shutdown()
        ray.shutdown()


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
    lines = (line.rpartition(" ") for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


async def gathered(url: httpx.URL, requests: list[dict[str, Any]]) -> list[httpx.Response]:
    """The answers to requests that are sent together."""
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        return await asyncio.gather(*(client.post(**request) for request in requests))
