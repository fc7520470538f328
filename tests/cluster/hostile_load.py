"""Memory and answers of an endpoint under hostile clients: `python -m tests.cluster.hostile_load`.

The endpoint is a process of its own with its real listener, routes, keys, review page, OCR and model, without Ray.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import httpx
import psutil

from layoutray.cluster.endpoint.listener import Address, listening
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.settings import ServeSettings
from tests.cluster.checkpoints import save_untrained
from tests.cluster.shared_ray import free_port
from tests.serving.in_process import application

MIB = 2**20


def serve(folder: str, port: int) -> None:
    """Serve until killed."""

    async def run() -> None:
        with application(_settings(Path(folder))) as api:
            async with listening(api, Address("127.0.0.1", port)):
                await asyncio.Event().wait()

    asyncio.run(run())


def _settings(folder: Path) -> ServeSettings:
    files = {name: str(folder / f"{name}.db") for name in ("keys", "jobs", "review")}
    return ServeSettings(str(folder / "checkpoint"), **files)  # pyright: ignore[reportArgumentType]


async def body(client: httpx.AsyncClient, path: str, kind: str) -> str:
    """600 MiB, of unknown length."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(600):
            yield bytes(MIB)

    try:
        return str((await client.post(path, content=pieces(), headers={"Content-Type": kind})).status_code)
    except httpx.TransportError as error:
        return type(error).__name__


async def header(address: Address) -> str:
    """A header without end, for 20 seconds at most."""
    _, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(b"GET / HTTP/1.1\r\nX: ")
    sent, until = 0, time.monotonic() + 20
    try:
        while time.monotonic() < until:
            writer.write(b"a" * 65536)
            await writer.drain()
            sent += 65536
    except OSError:
        pass
    return f"closed after {sent // 1024} KiB"


async def silent(address: Address, number: int) -> str:
    """Connections that send nothing."""
    made = [await asyncio.open_connection(address.host, address.port) for _ in range(number)]
    await asyncio.sleep(30)
    closed = sum(reader.at_eof() or reader.exception() is not None for reader, _ in made)
    for _, writer in made:
        writer.close()
    return f"{closed} of {number} closed after 30 s"


async def words(client: httpx.AsyncClient, key: str, number: int, pages: int = 1) -> str:
    word = b'{"text": "word", "box": [1, 1, 9, 9]}'
    page = b'{"width": 99, "height": 99, "words": [%s]}' % b", ".join([word] * number)
    sent = b'{"pages": [%s]}' % b", ".join([page] * pages)
    began = time.monotonic()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    status = (await client.post("/v1/extract", content=sent, headers=headers)).status_code
    return f"{status} after {time.monotonic() - began:.1f} s"


async def measured(name: str, process: psutil.Process, url: str, attack: Awaitable[str]) -> None:
    """Print what an attack did, and memory and the latencies of `/livez` meanwhile."""
    before, peak, latencies = process.memory_info().rss, 0, list[float]()
    task = asyncio.ensure_future(attack)
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        while not task.done():
            began = time.monotonic()
            (await client.get("/livez", headers={"Connection": "close"})).raise_for_status()
            latencies.append(time.monotonic() - began)
            peak = max(peak, process.memory_info().rss)
            await asyncio.sleep(0.05)
    more, slowest = (peak - before) / MIB, 1000 * max(latencies, default=0)
    sys.stdout.write(f"| {name} | {task.result()} | {more:.0f} | {slowest:.0f} |\n")
    sys.stdout.flush()


async def attacks(address: Address, process: psutil.Process, key: str) -> None:
    url = str(address)
    async with httpx.AsyncClient(base_url=url, timeout=300) as client:
        await words(client, key, 100)

        def run(name: str, attack: Awaitable[str]) -> Awaitable[None]:
            return measured(name, process, url, attack)

        sys.stdout.write("| attack | outcome | MiB more | slowest /livez, ms |\n| --- | --- | --- | --- |\n")
        for path in ("/review/session", "/review/documents", "/v1/extract", "/v1/jobs", "/livez"):
            for kind in ("text/plain", "application/x+json", "application/json", "multipart/form-data; boundary=B"):
                await run(f"600 MiB of {kind.partition(';')[0]} at {path}", body(client, path, kind))
        await run("endless header", header(address))
        await run("3,000 silent connections", silent(address, 3000))
        await run("400,000 words on a page", words(client, key, 400_000))
        await run("10,000 words on each of 5 pages", words(client, key, 10_000, 5))
        await run("a page of 300 words afterwards", words(client, key, 300))


async def _main() -> None:
    address = Address("127.0.0.1", free_port())
    with tempfile.TemporaryDirectory() as folder:
        save_untrained(Path(folder) / "checkpoint", fields={"total": {}})
        store = KeyStore.open(f"{folder}/keys.db", create=True)
        key = store.create("client", ["extract"])
        store.close()
        command = [sys.executable, "-m", __spec__.name, folder, str(address.port)]
        process = await asyncio.create_subprocess_exec(*command)
        try:
            async with httpx.AsyncClient(base_url=str(address)) as client:
                while True:
                    try:
                        (await client.get("/readyz")).raise_for_status()
                        break
                    except httpx.HTTPError:
                        await asyncio.sleep(0.5)
            await attacks(address, psutil.Process(process.pid), key)
        finally:
            process.kill()
            await process.wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(sys.argv[1], int(sys.argv[2]))
    else:
        asyncio.run(_main())
