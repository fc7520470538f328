"""The listener answers as Serve's proxy would."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request

from layoutray.cluster.endpoint.listener import Address, listening
from layoutray.errors import InputError
from layoutray.serving.request_log import request_id
from tests.cluster.running_endpoint import refused
from tests.cluster.shared_ray import free_port

_PATIENCE = 30


class Slow:
    """Answers each request with its body, when the test lets it; counts requests that were cancelled."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def answer(self, request: Request) -> str:
        body = await request.body()
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return body.decode()

    def api(self) -> FastAPI:
        api = FastAPI()
        api.add_api_route("/", self.answer, methods=["POST"])
        api.add_api_route("/id", _id)
        return api


async def _id(request: Request) -> str:
    return request_id(request.headers)


def asked(ask: Callable[[Slow, Address, httpx.AsyncClient], Awaitable[None]]) -> None:
    """Run `ask` with a client of an application that listens."""

    async def run() -> None:
        slow, address = Slow(), Address("127.0.0.1", free_port())
        async with (
            asyncio.timeout(_PATIENCE),
            listening(slow.api(), address),
            httpx.AsyncClient(base_url=str(address)) as client,
        ):
            await ask(slow, address, client)

    asyncio.run(run())


def test_a_request_gets_an_id_or_keeps_its_own() -> None:
    async def ask(_: Slow, __: Address, client: httpx.AsyncClient) -> None:
        own = await client.get("/id", headers={"X-Request-Id": "order-7/a"})
        assert own.headers["X-Request-Id"] == own.json() == "order-7/a"
        made = [await client.get("/id") for _ in range(2)]
        assert len({answer.json() for answer in made}) == 2
        assert all(answer.headers["X-Request-Id"] == answer.json() != "" for answer in made)

    asked(ask)


def test_headers_are_checked() -> None:
    async def ask(_: Slow, __: Address, client: httpx.AsyncClient) -> None:
        refused(await client.get("/id", headers={"X-Request-Id": "two words"}), 400, "malformed_request")

    asked(ask)


def test_a_request_whose_client_has_gone_is_cancelled() -> None:
    async def ask(slow: Slow, address: Address, _: httpx.AsyncClient) -> None:
        _, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n7")
        await slow.begun.wait()
        assert not slow.cancelled.is_set()
        writer.close()
        await slow.cancelled.wait()

    asked(ask)


def test_requests_that_have_begun_are_answered_before_it_ends() -> None:
    async def run() -> httpx.Response:
        slow, address = Slow(), Address("127.0.0.1", free_port())
        async with asyncio.timeout(_PATIENCE), httpx.AsyncClient(base_url=str(address)) as client:
            async with listening(slow.api(), address):
                answer = asyncio.create_task(client.post("/", content="7"))
                await slow.begun.wait()
                asyncio.get_running_loop().call_later(0.2, slow.go.set)
            return await answer

    assert asyncio.run(run()).json() == "7"


def test_several_replicas_share_a_port_and_other_programs_do_not() -> None:
    address = Address("127.0.0.1", free_port())
    address.require_free()
    (first,), (second,) = address.listen(), address.listen()
    with first, second, pytest.raises(InputError, match=f"cannot listen on {address.host}"):
        address.require_free()
    with socket.create_server((address.host, address.port)), pytest.raises(InputError, match="give another --host"):
        address.require_free()


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot listen on 192\.0\.2\.1:8000"):
        Address("192.0.2.1", 8000).require_free()


def test_the_url_of_an_address_in_ipv6_has_brackets() -> None:
    address = Address("::1", free_port())
    assert httpx.URL(str(address)).host == "::1"
    assert httpx.URL(str(address)).port == address.port


def test_a_name_of_several_addresses_is_listened_to_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `localhost` on a machine whose /etc/hosts has it in IPv4 and IPv6; an address that is not here is left out."""
    hosts = ["127.0.0.1", "::1", "192.0.2.1"]
    known = socket.getaddrinfo

    def both(host: str, *given: object, **more: Any) -> list[Any]:
        return [one for each in (hosts if host == "localhost" else [host]) for one in known(each, *given, **more)]

    async def run() -> None:
        slow, address = Slow(), Address("localhost", free_port())
        address.require_free()
        async with asyncio.timeout(_PATIENCE), listening(slow.api(), address), httpx.AsyncClient() as client:
            for host in ("127.0.0.1", "[::1]"):
                assert (await client.get(f"http://{host}:{address.port}/id")).status_code == 200
            with pytest.raises(InputError, match="cannot listen on localhost"):
                address.require_free()

    monkeypatch.setattr(socket, "getaddrinfo", both)
    asyncio.run(run())
