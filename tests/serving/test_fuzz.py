"""Requests made at random: none is answered with a 5xx but 503 and 504, none hangs, and memory does not grow."""

import gc
import json
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from typing import Any

import httpx
import psutil
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.cluster.running_endpoint import as_request, rendered
from tests.ocr.files import encoded, pdf, typed

pytestmark = [pytest.mark.slow, pytest.mark.ocr]

REQUESTS = 1_000
ROUNDS = 10
"""Hypothesis keeps all requests of a round in the memory of this process, which is also that of the endpoint."""
GROWTH = 64 * 2**20
"""Bytes by which memory may grow after the first round, which fills caches and pools."""
PATHS = ("/v1/extract", "/v1/summarize", "/v1/jobs", "/v1/jobs/7", "/v1/jobs/7/results", "/v1/jobs/7/cancel")
OTHERS = ("/v1/models", "/healthz", "/metrics", "/docs", "/openapi.json", "/none")
IMAGE, WORDS = rendered()
BODY = as_request(IMAGE, WORDS)
SMALL = IMAGE.resize((IMAGE.width // 8, IMAGE.height // 8))
FILES = [encoded(SMALL, kind) for kind in ("PNG", "JPEG", "TIFF")] + [pdf(typed("total 12.50", x=9, y=9))]

plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner))
header_bytes = st.binary(max_size=60).map(lambda given: given.translate(None, bytes(range(32)) + b"\x7f").strip())


@st.composite
def nearly_valid(draw: st.DrawFn) -> bytes:
    """The body of a request for words, in which one part is replaced."""
    page = dict(BODY["pages"][0], words=BODY["pages"][0]["words"][:5])
    where = draw(st.sampled_from(["width", "height", "words", "more", "box", "text"]))
    if where in ("box", "text"):
        page["words"] = [dict(page["words"][0], **{where: draw(values)}), *page["words"][1:]]
    else:
        page[where] = draw(values)
    return json.dumps({"pages": [page] * draw(st.integers(0, 5))}).encode()


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A picture or PDF that is cut, or in which bits are turned."""
    content = bytearray(draw(st.sampled_from(FILES)))
    for place in draw(st.lists(st.integers(0, len(content) - 1), max_size=8)):
        content[place] ^= 1 << draw(st.integers(0, 7))
    return bytes(content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content)


def form(draw: st.DrawFn) -> dict[str, Any]:
    name, file = draw(st.sampled_from(["file", "file", "other"])), draw(st.text(max_size=12))
    return {"files": [(name, (file, draw(damaged()))) for _ in range(draw(st.integers(1, 3)))]}


def words(draw: st.DrawFn) -> dict[str, Any]:
    content = draw(nearly_valid() | values.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=200))
    return {"content": content, "headers": {"Content-Type": draw(st.sampled_from(["application/json", "text/plain"]))}}


def cut_form(draw: st.DrawFn) -> dict[str, Any]:
    stream = BytesIO(b'--a\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + draw(damaged()))
    kind = "multipart/form-data; boundary=" + draw(st.sampled_from(["a", "b", "", '"a']))
    return {"content": stream.read(), "headers": {"Content-Type": kind}}


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    shapes: list[Callable[[st.DrawFn], dict[str, Any]]] = [words, words, form, cut_form]
    path = draw(st.sampled_from([*PATHS, *PATHS, *OTHERS]))
    method = draw(st.sampled_from(["POST", "POST", "POST", "GET", "DELETE", "PUT", "OPTIONS"]))
    body = draw(st.sampled_from(shapes))(draw)
    more = draw(st.sampled_from(["X-Request-Id", "Idempotency-Key", "Accept", "X-Session-Id", "Content-Encoding"]))
    parameters = draw(st.dictionaries(st.sampled_from(["words", "explain", "after", "limit"]), st.text(max_size=6)))
    headers = body.pop("headers", {})
    if draw(st.integers(0, 4)) == 0:  # most of them are refused before anything else is read
        headers[more] = draw(header_bytes)
    if draw(st.integers(0, 9)) == 0:
        headers["Authorization"] = (b"Bearer " + draw(header_bytes)).strip()
    return {"method": method, "url": path, "params": parameters, "headers": headers, **body}


@pytest.mark.timeout(7200)
def test_random_requests_are_answered(admin: httpx.Client, record_property: Callable[[str, object], None]) -> None:
    statuses: Counter[int] = Counter()
    memory: list[int] = []

    @settings(max_examples=REQUESTS, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(requests())
    def send(request: dict[str, Any]) -> None:
        response = admin.request(**request, timeout=70)
        statuses[response.status_code] += 1
        assert response.status_code < 500 or response.status_code in (503, 504), response.text

    for _ in range(ROUNDS):
        send()
        gc.collect()
        memory.append(psutil.Process().memory_info().rss)
    record_property("statuses", dict(statuses))
    record_property("memory", memory)
    assert statuses.total() >= ROUNDS * REQUESTS
    assert memory[-1] - memory[0] < GROWTH
