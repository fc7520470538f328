"""Bodies are limited on every path, whatever their type, and before anything reads them."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI, Request
from pydantic import BaseModel

from layoutray.serving.description import DescribedApi
from layoutray.serving.limits import Limits

MIB = 2**20
LIMITS = Limits(max_upload_bytes=MIB, max_job_bytes=4 * MIB)


class SignIn(BaseModel):
    key: str


async def sign_in(body: SignIn) -> str:
    return body.key


async def size(request: Request) -> int:
    return len(await request.body())


def api() -> FastAPI:
    """An application with a route that declares its body, as those of the review page, and others that read it."""
    app, mounted = DescribedApi(LIMITS), FastAPI()
    mounted.add_api_route("/session", sign_in, methods=["POST", "PUT"])
    app.mount("/review", mounted)
    for path in ("/v1/extract", "/v1/jobs"):
        app.add_api_route(path, size, methods=["POST"])
    return app


def asked(path: str, kind: str, mebibytes: int, *, chunked: bool) -> httpx.Response:
    """The answer to a body whose pieces are made when the application asks for them."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(16 * mebibytes):
            yield bytes(MIB // 16)

    async def ask() -> httpx.Response:
        headers = {"content-type": kind} | ({} if chunked else {"content-length": str(mebibytes * MIB)})
        transport = httpx.ASGITransport(api())
        async with httpx.AsyncClient(transport=transport, base_url="http://endpoint") as client:
            return await client.post(path, content=pieces(), headers=headers)

    return asyncio.run(ask())


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x+json", "application/json", "multipart/form-data; boundary=B", ""]
)
@pytest.mark.parametrize("path", ["/review/session", "/v1/extract", "/v1/jobs", "/livez", "/nothing"])
def test_a_large_body_is_refused_with_flat_memory(path: str, kind: str, chunked: bool) -> None:
    asked(path, kind, 1, chunked=chunked)  # what the first request loads
    tracemalloc.start()
    answer = asked(path, kind, 64, chunked=chunked)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    expected = 413 if not chunked or path not in ("/livez", "/nothing") else 404
    assert answer.status_code == expected, "a path that reads no body answers before it comes"
    if expected == 413:
        assert answer.json()["error"]["code"] == "too_large"
    assert peak < 10 * MIB


@pytest.mark.parametrize(
    ("path", "kind", "mebibytes"),
    [
        ("/v1/extract", "application/json", 1),
        ("/v1/extract", "multipart/form-data", 1),
        ("/v1/jobs", "multipart/form-data", 4),
    ],
)
def test_a_body_may_be_as_large_as_its_path_and_type_allow(path: str, kind: str, mebibytes: int) -> None:
    assert asked(path, kind, mebibytes, chunked=True).json() == mebibytes * MIB
    assert asked(path, kind, mebibytes + 1, chunked=True).status_code == 413
