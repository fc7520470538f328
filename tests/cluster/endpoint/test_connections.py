"""Connections whose clients send too much or too little are closed, and others are answered meanwhile."""

import asyncio
import contextlib
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
from fastapi import FastAPI, Request

from layoutray.cluster.endpoint import connections
from layoutray.cluster.endpoint.listener import Address, listening
from tests.cluster.shared_ray import free_port

_PATIENCE = 30
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(connections, "LEAST_BYTES_PER_SECOND", 10_000)


async def answer(request: Request) -> int:
    size = 0
    async for piece in request.stream():
        size += len(piece)
    if "slowly" in request.headers:
        await asyncio.sleep(1.5)
    return size


def attacked(attack: Callable[[Address, httpx.AsyncClient], Awaitable[None]]) -> None:
    api = FastAPI()
    api.add_api_route("/", answer, methods=["GET", "POST"])

    async def run() -> None:
        address = Address("127.0.0.1", free_port())
        async with (
            asyncio.timeout(_PATIENCE),
            listening(api, address),
            httpx.AsyncClient(base_url=str(address)) as client,
        ):
            await attack(address, client)

    asyncio.run(run())


async def ending(address: Address, *pieces: bytes, endless: bytes = b"", pause: float = 0.0) -> bytes:
    """What the endpoint answers until it closes the connection."""
    reader, writer = await asyncio.open_connection(address.host, address.port)

    async def send() -> None:
        with contextlib.suppress(OSError):
            for piece in pieces:
                writer.write(piece)
            while endless:
                writer.write(endless)
                await writer.drain()
                await asyncio.sleep(pause)

    sending = asyncio.create_task(send())
    answered = b""
    with contextlib.suppress(OSError):
        while piece := await reader.read(65536):
            answered += piece
    sending.cancel()
    writer.close()
    return answered


def test_endless_headers_and_trailers_are_refused_with_flat_memory() -> None:
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"

    async def attack(address: Address, client: httpx.AsyncClient) -> None:
        tracemalloc.start()
        for begin in (HEAD + b"X-Long: ", b"GET /", chunked + b"0\r\nX-Long: ", chunked + b"1;", b""):
            answered = await ending(address, begin, endless=b"a\r\nX: " * 2000 if begin == b"" else b"a" * 16384)
            assert answered.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400")) or not answered, begin
        assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
        tracemalloc.stop()
        assert (await client.get("/")).status_code == 200

    attacked(attack)


def test_headers_in_one_piece_are_limited_too() -> None:
    async def attack(_: Address, client: httpx.AsyncClient) -> None:
        assert (await client.get("/", headers={"X-Long": "a" * 60_000})).status_code == 200
        refused = await client.get("/", headers={"X-Long": "a" * 66_000})
        assert (refused.status_code, refused.json()["error"]["code"]) == (431, "too_large")

    attacked(attack)


def test_a_client_that_sends_nothing_or_slowly_is_closed() -> None:
    async def attack(address: Address, _: httpx.AsyncClient) -> None:
        slow = {"endless": b"a", "pause": 0.1}
        silent, header, body = await asyncio.gather(
            ending(address),
            ending(address, HEAD, **slow),  # pyright: ignore[reportArgumentType]
            ending(address, HEAD + b"Content-Length: 9999\r\n\r\n", **slow),  # pyright: ignore[reportArgumentType]
        )
        assert [one.split(b" ")[1] for one in (silent, header, body)] == [b"408"] * 3

    attacked(attack)


def test_a_slow_endpoint_and_a_fast_enough_client_lose_nothing() -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(12):
            await asyncio.sleep(0.1)
            yield bytes(2000)

    async def attack(_: Address, client: httpx.AsyncClient) -> None:
        assert (await client.post("/", content=body(), headers={"slowly": "yes"})).json() == 24_000

    attacked(attack)


def test_silent_connections_make_room_for_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 10)
    monkeypatch.setattr(connections, "HEADER_SECONDS", 60.0)

    async def attack(address: Address, client: httpx.AsyncClient) -> None:
        waiting = [asyncio.create_task(client.post("/", headers={"slowly": "yes"})) for _ in range(3)]
        await asyncio.sleep(0.5)
        silent = [await asyncio.open_connection(address.host, address.port) for _ in range(40)]
        assert (await client.get("/")).status_code == 200
        assert [(await one).status_code for one in waiting] == [200] * 3, "no request in progress is closed"
        closed = [reader.at_eof() or await asyncio.sleep(0) is not None for reader, _ in silent]
        assert sum(closed) >= 25
        for _, writer in silent:
            writer.close()

    attacked(attack)


def test_a_connection_does_not_queue_requests_without_end() -> None:
    async def attack(address: Address, client: httpx.AsyncClient) -> None:
        tracemalloc.start()
        await ending(address, HEAD + b"slowly: yes\r\nContent-Length: 0\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n" * 20_000)
        assert tracemalloc.get_traced_memory()[1] < 6 * 2**20
        tracemalloc.stop()
        assert (await client.get("/")).status_code == 200

    attacked(attack)
