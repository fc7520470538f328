"""Take a document out of a request: an uploaded file, or pages of words. Never holds more of it than the limits allow."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from layoutray.cluster.serving import failures
from layoutray.cluster.serving.failures import ApiError
from layoutray.cluster.serving.limits import Limits
from layoutray.cluster.serving.schema import ExtractRequest, PageInput, SummarizeRequest, WordInput
from layoutray.document import Box, Page, Provenance, Word
from layoutray.errors import DocumentError
from layoutray.ocr.render import sniff
from layoutray.readers.texts import COLUMNS, LINES, typeset_pages

_ENVELOPE_BYTES = 64 * 1024
"""Room for what multipart puts around the file."""
_MULTIPART, _JSON = "multipart/form-data", "application/json"
_HOW = f"send the document as the form field `file` ({_MULTIPART}), or pages of words (at /v1/summarize also a text) as {_JSON}"

Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file of a supported kind, not yet opened."""

    doc_id: str
    source: str
    data: bytes


@dataclass(frozen=True, slots=True)
class WordPages:
    """Pages whose words the caller has read."""

    doc_id: str
    pages: tuple[Page, ...]


async def receive(
    request: Request, limits: Limits, pages_in: Callable[[bytes, Limits], WordPages]
) -> UploadedFile | WordPages:
    """The document in `request`.

    Args:
        pages_in: takes the pages out of a JSON body: `word_pages`, or `word_pages_or_text`.

    Raises:
        ApiError: 400 without one or where it is no JSON, 413 too large, 415 of another type, 422 empty or not making sense.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _MULTIPART:
        return await _receive_file(request, limits)
    if kind == _JSON:
        body = await _limited(request, limits.max_upload_bytes).body()
        return pages_in(body, limits)
    if not kind:
        raise ApiError(400, "no_file", f"the request has no Content-Type; {_HOW}", retryable=False)
    raise ApiError(415, "unsupported_type", f"the body is {kind}; {_HOW}", retryable=False)


async def _receive_file(request: Request, limits: Limits) -> UploadedFile:
    try:
        async with _limited(request, limits.max_upload_bytes + _ENVELOPE_BYTES).form(max_files=1, max_fields=8) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise ApiError(400, "no_file", f"the form has no file in a field `file`; {_HOW}", retryable=False)
            data, source = await file.read(), file.filename or ""
    except HTTPException as error:
        raise failures.of_http(error) from error
    if len(data) > limits.max_upload_bytes:
        raise _too_large(limits.max_upload_bytes)
    try:
        sniff(data)
    except DocumentError as error:
        raise failures.of_problem(failures.problem_of(error)) from error
    return UploadedFile(hashlib.sha256(data).hexdigest(), source, data)


def _limited(request: Request, most: int) -> Request:
    """The same request, which raises ApiError (413) while more than `most` bytes are being read."""
    received = 0

    async def receive_counted() -> Message:
        nonlocal received
        message = await request.receive()
        received += len(message.get("body", b""))
        if received > most:
            raise _too_large(most)
        return message

    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most:
        raise _too_large(most)
    return Request(request.scope, receive_counted)


def _too_large(most: int) -> ApiError:
    return ApiError(
        413, "too_large", f"the body is larger than {most} bytes, which is the most that is taken", retryable=False
    )


def word_pages(body: bytes, limits: Limits) -> WordPages:
    """The pages of an `ExtractRequest`. Raises ApiError: 400 no JSON, 413 too many of them, 422 not making sense."""
    return _given_pages(hashlib.sha256(body).hexdigest(), _parsed(body, ExtractRequest).pages, limits)


def word_pages_or_text(body: bytes, limits: Limits) -> WordPages:
    """The pages of a `SummarizeRequest`, or those that its text takes. Raises ApiError as `word_pages`."""
    wanted, doc_id = _parsed(body, SummarizeRequest), hashlib.sha256(body).hexdigest()
    if wanted.text is None:
        return _given_pages(doc_id, wanted.pages or [], limits)
    if len(wanted.text) > (most := limits.max_pages * LINES * COLUMNS):  # before the time that setting it would take
        raise ApiError(
            413,
            "too_large",
            f"the text has {len(wanted.text)} characters, allowed are {most}; split it",
            retryable=False,
        )
    pages = typeset_pages(wanted.text, doc_id)
    if not pages:
        raise failures.invalid("text: it must have at least one word")
    _check_number(len(pages), limits)
    return WordPages(doc_id, pages)


def _parsed(body: bytes, shape: type[Body]) -> Body:
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False)
        if found[0]["type"] == "json_invalid":
            raise ApiError(400, "malformed_request", f"body: {found[0]['msg']}", retryable=False) from error
        raise failures.invalid_fields(found) from error


def _given_pages(doc_id: str, pages: Sequence[PageInput], limits: Limits) -> WordPages:
    _check_number(len(pages), limits)
    return WordPages(doc_id, tuple(_page(doc_id, number, page) for number, page in enumerate(pages, 1)))


def _check_number(pages: int, limits: Limits) -> None:
    if pages > limits.max_pages:
        message = f"the document has {pages} pages, allowed are {limits.max_pages}; split it"
        raise ApiError(413, "too_large", message, retryable=False)


def _page(doc_id: str, number: int, page: PageInput) -> Page:
    boxes = [_box(word, page, f"pages[{number - 1}].words[{index}]") for index, word in enumerate(page.words)]
    words = tuple(
        Word(word.text, box, line=line) for word, box, line in zip(page.words, boxes, _lines(boxes), strict=True)
    )
    origin = Provenance("annotation", "the caller sent words and boxes")
    return Page(doc_id, number, page.width, page.height, words, source="", image="", split="", provenance=origin)


def _box(word: WordInput, page: PageInput, place: str) -> Box:
    try:
        return Box.from_pixels(word.box, page.width, page.height)
    except DocumentError as error:
        size = f"{page.width} x {page.height}"
        raise failures.invalid(
            f"{place}.box {list(word.box)} must satisfy 0 <= x0 <= x1 <= width and 0 <= y0 <= y1 <= height in pixels of its page of {size}"
        ) from error


def _lines(boxes: Sequence[Box]) -> list[int]:
    """Line of each word in reading order: a new one begins where a word's middle leaves the height of the word before, or goes back."""
    lines: list[int] = []
    for index, box in enumerate(boxes):
        before = boxes[index - 1] if index else box
        level = before.y0 <= (box.y0 + box.y1) / 2 <= before.y1 and box.x1 >= before.x0
        lines.append((lines[-1] if lines else 0) + (not level))
    return lines
