"""Documents are taken out of requests within limits, and words get the lines that they stand on."""

import asyncio
import gc
import json
import threading
import time
import warnings
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import Message

from layoutray.errors import ApiError
from layoutray.serving import submission
from layoutray.serving.jobs.records import Submission
from layoutray.serving.limits import Limits
from layoutray.serving.submission import UploadedFile, WordPages

PNG = b"\x89PNG\r\n\x1a\n"


def received(body: bytes, kind: str, limits: Limits | None = None, *, piece: int = 1000) -> UploadedFile | WordPages:
    """What comes out of a request that arrives in pieces."""
    pieces = [body[at : at + piece] for at in range(0, len(body), piece)] or [b""]

    async def receive() -> Message:
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-type", kind.encode())]}
    return asyncio.run(submission.receive(Request(scope, receive), limits or Limits(), submission.word_pages))


def form(name: str, content: bytes) -> bytes:
    head = f'--B\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return head + content + b"\r\n--B--\r\n"


def words(*boxes: tuple[float, ...]) -> bytes:
    page: dict[str, Any] = {"width": 100, "height": 100, "words": [{"text": "w", "box": box} for box in boxes]}
    return json.dumps({"pages": [page]}).encode()


def test_a_file_comes_out_as_it_went_in_whatever_its_name() -> None:
    content = PNG + bytes(range(256)) * 40
    file = received(form("Beleg-№5 ünï.png", content), "multipart/form-data; boundary=B", piece=7)
    assert isinstance(file, UploadedFile)
    assert (file.data, file.source) == (content, "Beleg-№5 ünï.png")


def test_a_file_may_be_as_large_as_the_limit_and_no_larger() -> None:
    limits, kind = Limits(max_upload_bytes=5000), "multipart/form-data; boundary=B"
    assert isinstance(received(form("a", PNG.ljust(5000)), kind, limits), UploadedFile)
    with pytest.raises(ApiError, match="larger than the limit of 5000 bytes") as caught:
        received(form("a", PNG.ljust(5001)), kind, limits)
    assert caught.value.status == 413


@pytest.mark.parametrize("kept", [40, 90, 1_200_000])
def test_a_form_that_is_cut_is_refused_and_leaves_no_file_open(kept: int) -> None:
    whole = form("a", PNG.ljust(1_500_000))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        with pytest.raises(ApiError, match="the form is cut") as caught:
            received(whole[:kept], "multipart/form-data; boundary=B", piece=65536)
        gc.collect()
    assert (caught.value.status, caught.value.code) == (400, "malformed_request")
    assert [str(one.message) for one in warned if "file" in str(one.message)] == []


def test_a_job_whose_last_file_is_cut_is_not_a_job_without_it() -> None:
    body = form("a", PNG).removesuffix(b"--\r\n") + b"\r\n" + form("b", PNG.ljust(2000))[5:-1000]

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def job() -> None:
        headers = [(b"content-type", b"multipart/form-data; boundary=B")]
        request = Request({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive)
        async with submission.receive_job(request, Limits(), Submission(owner="", options={})):
            raise AssertionError("a part of the job was accepted")

    with pytest.raises(ApiError, match="the form is cut"):
        asyncio.run(job())


def test_reading_stops_at_the_limit() -> None:
    with pytest.raises(ApiError) as caught:
        received(bytes(10_000_000), "application/json", Limits(max_upload_bytes=5000))
    assert caught.value.status == 413


def test_words_get_a_new_line_where_they_step_down_or_back() -> None:
    boxes = [(10, 10, 20, 20), (22, 11, 30, 21), (32, 9, 40, 19), (10, 24, 20, 34), (22, 25, 30, 33), (5, 25, 9, 33)]
    pages = received(words(*boxes), "application/json")
    assert isinstance(pages, WordPages)
    assert [word.line for word in pages.pages[0].words] == [0, 0, 0, 1, 1, 2]


def test_pages_are_numbered_from_one_and_boxes_become_shares() -> None:
    pages = received(words((10, 20, 30, 40)), "application/json; charset=utf-8")
    assert isinstance(pages, WordPages)
    (page,) = pages.pages
    (word,) = page.words
    assert (page.number, page.width, page.height) == (1, 100, 100)
    assert (word.box.x0, word.box.y0, word.box.x1, word.box.y1) == (0.1, 0.2, 0.3, 0.4)


def test_a_box_that_is_no_number_is_refused() -> None:
    body = words((0, 0, 5, 5)).replace(b"[0, 0, 5, 5]", b"[0, 0, NaN, 5]")
    with pytest.raises(ApiError, match=r"words"):
        received(body, "application/json")


def test_too_many_pages_are_refused() -> None:
    body = json.dumps({"pages": [{"width": 9, "height": 9, "words": []}] * 4}).encode()
    with pytest.raises(ApiError, match="4 pages; at most 3 are allowed"):
        received(body, "application/json", Limits(max_pages=3))


def test_a_body_that_is_no_json_is_told_from_one_that_makes_no_document() -> None:
    with pytest.raises(ApiError, match="body: Invalid JSON: EOF while parsing") as caught:
        received(b'{"pages": [', "application/json")
    assert (caught.value.status, caught.value.code) == (400, "malformed_request")
    with pytest.raises(ApiError, match="pages: Field required") as caught:
        received(b"{}", "application/json")
    assert (caught.value.status, caught.value.code) == (422, "invalid_request")


def test_what_is_wrong_with_a_text_and_its_type_is_said_in_our_words() -> None:
    with pytest.raises(ApiError, match=r"^body: give either pages or text$"):
        submission.word_pages_or_text(b"{}", Limits())
    with pytest.raises(ApiError, match=r"at /v1/summarize, a text") as caught:
        received(b"A text.", "text/plain")
    assert caught.value.status == 415


def page_of(*texts: str) -> dict[str, Any]:
    return {"width": 100, "height": 100, "words": [{"text": text, "box": [0, 0, 5, 5]} for text in texts]}


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ([["a"] * 4, ["a"] * 5], "page 2 has 5 words; at most 4 are allowed"),
        ([["a"] * 4, ["a"] * 4], "the document has 8 words; at most 6 are allowed"),
        ([["a", "b" * 21]], "a word of page 1 has 21 characters; at most 20 are allowed"),
        ([["a" * 14] * 3], "page 1 has 42 characters in its words; at most 40 are allowed"),
        ([["a" * 13] * 3, ["a" * 11] * 2], "the document has 61 characters in its words; at most 60 are allowed"),
    ],
)
def test_words_are_limited_by_page_document_and_length(pages: list[list[str]], message: str) -> None:
    limits = Limits(max_page_words=4, max_words=6, max_word_length=20)
    body = json.dumps({"pages": [page_of(*texts) for texts in pages]}).encode()
    with pytest.raises(ApiError, match=message) as caught:
        received(body, "application/json", limits)
    assert (caught.value.status, caught.value.code) == (413, "too_large")


@pytest.mark.parametrize(
    "words",
    [b"1," * 1_000_000 + b"1", b"{}," * 1_000_000 + b"{}", b"{" + b'"k":1,' * 1_000_000 + b'"k":1}', b"[" * 9**6],
)
def test_json_that_is_costly_to_parse_is_refused_at_once(words: bytes) -> None:
    body = b'{"pages": [{"width": 1, "height": 1, "words": [' + words + b"]}]}"
    began = time.process_time()
    with pytest.raises(ApiError, match="send fewer words") as caught:
        submission.word_pages(body, Limits())
    assert caught.value.status == 413
    assert time.process_time() - began < 0.5


def test_the_event_loop_goes_on_while_words_are_parsed() -> None:
    body = json.dumps({"pages": [page_of("word")]}).encode()
    seen: list[bool] = []

    def parse(body: bytes, limits: Limits) -> WordPages:
        waited = threading.Event()
        loop.call_soon_threadsafe(waited.set)
        seen.append(waited.wait(5))
        return submission.word_pages(body, limits)

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    async def check() -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
        await submission.receive(Request(scope, receive), Limits(), parse)

    loop: asyncio.AbstractEventLoop
    asyncio.run(check())
    assert seen == [True]
