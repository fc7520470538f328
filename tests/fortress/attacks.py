"""What a hostile client sends: bodies that cost much, values that no program expects, damaged files, and bare sockets.

Each attack is made from a random generator, so that a seed makes it again. Names say what is wrong.
"""

import json
import socket
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.ocr.files import encoded, pdf, picture, typed

_HOLD_SECONDS = 3
"""How long a connection that sends nothing is held."""
_CONNECTIONS = 200

Sent = Iterator[int]
"""Statuses of the answers; a connection that the endpoint closes has none."""
Attack = Callable[[httpx.Client, Random], Sent]


def many_words(client: httpx.Client, random: Random) -> Sent:
    for count in (20_000, 100_000):
        yield _post(client, _page([_word("w") for _ in range(count)]))


def long_words(client: httpx.Client, random: Random) -> Sent:
    """Texts that make regular expressions with two quantifiers slow."""
    for text in (
        "INV-" + "a" * 40_000,
        "1." * 40_000,
        "9" * 5_000,
        " " * 40_000 + "-",
        "Jan" * 9_000,
        "three " * 9_000,
    ):
        yield _post(client, _page([_word(text), _word("years")]))


def strange_numbers(client: httpx.Client, random: Random) -> Sent:
    for number in ("1e30", "1e300", "1" + 400 * "0", "-1", "0", "NaN", "Infinity", "1e-300", str(2**63)):
        for part in ("width", "box"):
            box = f"[0, 0, {number}, 10]" if part == "box" else "[0, 0, 10, 10]"
            width = number if part == "width" else "800"
            body = f'{{"pages": [{{"width": {width}, "height": 900, "words": [{{"text": "a", "box": {box}}}]}}]}}'
            yield _status(client.post("/v1/extract", content=body, headers={"Content-Type": "application/json"}))


def deep_bodies(client: httpx.Client, random: Random) -> Sent:
    depth = random.randint(10_000, 100_000)
    for body in ("[" * depth, '{"pages":' * depth, '{"pages": [' + "{}," * depth + "{}]}", '"' + "\\u0000" * depth):
        yield _status(client.post("/v1/extract", content=body, headers={"Content-Type": "application/json"}))


def strange_texts(client: httpx.Client, random: Random) -> Sent:
    for text in ("\u202e\u0000", "\ud800", "é" * 3_000, "=cmd()", "../../etc/passwd", "%00", "\u0085" * 500, ""):
        word = json.dumps(_word(text))
        body = f'{{"pages": [{{"width": 800, "height": 900, "words": [{word}]}}]}}'
        yield _status(client.post("/v1/extract", content=body, headers={"Content-Type": "application/json"}))


def odd_pictures(client: httpx.Client, random: Random) -> Sent:
    for size in ((1, 1), (1, 60_000), (60_000, 1), (3, 20_000)):
        yield _upload(client, encoded(picture("", size=size), "PNG"))


def damaged_files(client: httpx.Client, random: Random) -> Sent:
    whole = [encoded(picture("total 12.50"), kind) for kind in ("PNG", "JPEG", "TIFF")]
    whole.append(pdf(typed("total 12.50", x=9, y=9)))
    for _ in range(24):
        content = bytearray(random.choice(whole))
        for _ in range(random.randint(0, 9)):
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        yield _upload(client, bytes(content[: random.randint(0, len(content))]))


def costly_files(client: httpx.Client, random: Random) -> Sent:
    """PDFs whose few bytes take long to draw, or whose pages and boxes are out of bounds."""
    lines = "".join(f"{random.randrange(600)} {random.randrange(800)} l\n" for _ in range(100_000))
    boxes = ("/MediaBox [0 0 1e9 1e9]", "/MediaBox [0 0 0 0]", "/MediaBox [0 0 600 800] /UserUnit 1e9", "/MediaBox 7")
    for content in (
        pdf("0 0 m\n" + lines + "S\n"),
        *(pdf(typed("a", x=9, y=9), page_entries=entry) for entry in boxes),
    ):
        yield _upload(client, content)


def strange_paths(client: httpx.Client, random: Random) -> Sent:
    paths = (
        "/v1/jobs/%00", "/v1/jobs/..%2f..%2fetc%2fpasswd", f"/v1/jobs/{2**70}", "/v1/extract/", "//v1/extract",
        "/v1/models/%ff/extract", "/review/documents/99999999999999999999", "/review/documents/-1", "/v1/jobs?limit=-1",
        f"/v1/jobs?limit={2**63}", "/v1/jobs?after=%00", "/metrics?x=" + "a" * 5_000,
    )  # fmt: skip
    for path in paths:
        for method in ("GET", "POST", "DELETE"):
            yield _status(client.request(method, path, headers={"Host": "evil.example"}))


def large_bodies(client: httpx.Client, random: Random) -> Sent:
    """More than any limit, to paths with and without a limit of their own, of every kind of content."""

    def parts() -> Iterator[bytes]:
        for _ in range(48):
            yield b"\0" * 2**20

    for path in ("/v1/extract", "/v1/jobs", "/review/session", "/review/documents/1", "/none"):
        for kind in ("application/json", "text/plain", "multipart/form-data; boundary=a"):
            try:
                yield _status(client.post(path, content=parts(), headers={"Content-Type": kind}))
            except httpx.TransportError:  # the endpoint closes the connection
                continue


def silent_connections(client: httpx.Client, random: Random) -> Sent:
    """Connections that send nothing, and some that send a header without an end."""
    address = urlsplit(str(client.base_url))
    held = [socket.create_connection((address.hostname, address.port), 10) for _ in range(_CONNECTIONS)]
    for number, one in enumerate(held):
        if number % 4 == 0:
            one.sendall(b"GET /livez HTTP/1.1\r\nX-A: ")
    until = time.monotonic() + _HOLD_SECONDS
    while time.monotonic() < until:
        for one in held[::4]:
            try:
                one.sendall(b"a" * 1_000)
            except OSError:
                continue
        time.sleep(0.05)
    for one in held:
        one.close()
    yield _status(client.get("/livez"))


def endless_header(client: httpx.Client, random: Random) -> Sent:
    address = urlsplit(str(client.base_url))
    with socket.create_connection((address.hostname, address.port), 10) as one:
        try:
            one.sendall(b"GET /livez HTTP/1.1\r\nX-A: ")
            for _ in range(64):
                one.sendall(b"a" * 2**20)
        except OSError:  # the endpoint closes the connection
            pass
    yield _status(client.get("/livez"))


ATTACKS: tuple[Attack, ...] = (
    many_words, long_words, strange_numbers, deep_bodies, strange_texts, odd_pictures, damaged_files, costly_files,
    strange_paths, large_bodies, silent_connections, endless_header,
)  # fmt: skip


def _word(text: str) -> dict[str, Any]:
    return {"text": text, "box": [0, 0, 10, 10]}


def _page(words: list[dict[str, Any]]) -> dict[str, Any]:
    return {"pages": [{"width": 800, "height": 900, "words": words}]}


def _post(client: httpx.Client, body: dict[str, Any]) -> int:
    return _status(client.post("/v1/extract", json=body))


def _upload(client: httpx.Client, content: bytes) -> int:
    return _status(client.post("/v1/extract", files={"file": ("a", content)}))


def _status(response: httpx.Response) -> int:
    return response.status_code
