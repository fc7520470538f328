"""Read a document from a request: an uploaded file, or pages of words. Never reads more bytes than the limits allow."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.types import Message

from layoutray.document import Box, Page, Provenance, Word
from layoutray.errors import ApiError, DocumentError
from layoutray.ocr.render import sniff
from layoutray.readers.texts import COLUMNS, LINES, typeset_pages
from layoutray.serving import failures
from layoutray.serving.jobs.records import JobFile, Submission
from layoutray.serving.jobs.schema import PrefixRequest
from layoutray.serving.limits import Limits, WordCount
from layoutray.serving.outcome import KnownPages
from layoutray.serving.schema import ExtractRequest, PageInput, SummarizeRequest, WordInput

_MAX_NAME = 1024
_MAX_FIELDS = 8
_MAX_JSON_JOB = 64 * 1024
"""Bytes of a job that names a prefix."""
_JOB_USAGE = (
    "send each file of the job as a form field `file`, all in one form (multipart/form-data), and the webhook, if any, "
    'as a field `webhook`; or send {"prefix": "s3://…"} as application/json'
)
_JSON_OF_WORD = {b",": 8, b":": 4, b"[": 2, b"{": 2}
"""How often a character may be in the JSON of a word, on average. Without those in its text it is there 5, 2, 1, and 1
times."""
_JSON_OF_PAGES = 10_000
ENVELOPE_BYTES = 64 * 1024
"""Allowance for the multipart headers and boundaries around the file."""
_MULTIPART, _JSON = "multipart/form-data", "application/json"
_USAGE = (
    f"send the document as the form field `file` ({_MULTIPART}), or as {_JSON} with pages of words "
    "(or, at /v1/summarize, a text)"
)

Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file of a supported type, not yet opened. `known`: its pages that need no answer any more."""

    doc_id: str
    source: str
    data: bytes
    known: KnownPages = field(default_factory=KnownPages)


@dataclass(frozen=True, slots=True)
class WordPages:
    """Pages with words from the client's OCR."""

    doc_id: str
    pages: tuple[Page, ...]


async def receive(
    request: Request, limits: Limits, parse_body: Callable[[bytes, Limits], WordPages]
) -> UploadedFile | WordPages:
    """The document in `request`.

    Args:
        parse_body: parses a JSON body: `word_pages` or `word_pages_or_text`.

    Raises:
        ApiError: 400 no document or invalid JSON, 413 too large, 415 unsupported type, 422 empty or invalid content.
    """
    kind = media_type(request.headers)
    if kind == _MULTIPART:
        async with _form(_limited(request, limits.max_upload_bytes + ENVELOPE_BYTES), max_files=1) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise ApiError(400, "no_file", f"the form has no file in a field `file`; {_USAGE}")
            data, source = await file.read(), file.filename or ""
        return await asyncio.to_thread(uploaded_file, data, source, limits)
    if kind == _JSON:
        body = await _limited(request, limits.max_upload_bytes).body()
        return await asyncio.to_thread(parse_body, body, limits)
    if not kind:
        raise ApiError(400, "no_file", f"the request has no Content-Type; {_USAGE}")
    raise ApiError(415, "unsupported_type", f"the Content-Type is {kind}; {_USAGE}")


@asynccontextmanager
async def receive_job(request: Request, limits: Limits, job: Submission) -> AsyncGenerator[Submission]:
    """`job` with the files, prefix and webhook of a request. Files can be read during the `with` block.

    Their content is not looked at.

    Raises:
        ApiError: 400 no file, another form field, too many files or invalid JSON, 413 too large, 415 neither form nor
            JSON, 422 a long name or invalid JSON content.
    """
    kind = media_type(request.headers)
    if kind == _JSON:
        body = _parsed(await _limited(request, _MAX_JSON_JOB).body(), PrefixRequest)
        yield replace(job, prefix=body.prefix, webhook=body.webhook)
        return
    if kind != _MULTIPART:
        raise ApiError(415, "unsupported_type", f"the Content-Type is {kind or 'missing'}; {_JOB_USAGE}")
    async with _form(_limited(request, limits.max_job_bytes), limits.max_job_files) as form:
        yield await asyncio.to_thread(_job_of_form, form, limits, job)


def _job_of_form(form: FormData, limits: Limits, job: Submission) -> Submission:
    fields = form.multi_items()
    uploads = [value for field, value in fields if field == "file" and isinstance(value, UploadFile)]
    webhooks = [value for field, value in fields if field == "webhook" and isinstance(value, str)]
    if len(uploads) + len(webhooks) < len(fields) or len(webhooks) > 1:
        names = ", ".join(sorted({field for field, _ in fields}))[:200]
        raise ApiError(400, "malformed_request", f"the form has the fields {names}; {_JOB_USAGE}")
    if not uploads:
        raise ApiError(400, "no_file", f"the form has no file; {_JOB_USAGE}")
    files = [_job_file(number, upload, limits) for number, upload in enumerate(uploads)]
    return replace(job, files=files, webhook=webhooks[0] if webhooks else None)


def _job_file(number: int, upload: UploadFile, limits: Limits) -> JobFile:
    name = upload.filename or ""
    if len(name) > _MAX_NAME:
        raise failures.invalid(f"file {number}: its name has {len(name)} characters; at most {_MAX_NAME} are allowed")
    if "\0" in name:  # which PostgreSQL does not store
        raise failures.invalid(f"file {number}: its name has the character NUL; send it with another name")
    if (upload.size or 0) > limits.max_upload_bytes:
        message = f"file {number} has {upload.size} bytes; at most {limits.max_upload_bytes} are allowed"
        raise ApiError(413, "too_large", message)

    def read() -> bytes:
        upload.file.seek(0)
        return upload.file.read()

    return JobFile(name, hashlib.sha256(read()).hexdigest(), read)


def is_form(request: Request) -> bool:
    """Whether the body is a form, which has a file; a body of JSON has words."""
    return media_type(request.headers) == _MULTIPART


def media_type(headers: Headers) -> str:
    """The type of a body without its parameters; empty if there is none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class _WholeForm(MultiPartParser):
    """Parses a form, and refuses one without its last boundary: its last part would be lost."""

    def __init__(self, headers: Headers, stream: AsyncGenerator[bytes], max_files: int) -> None:
        self._ended = False
        super().__init__(headers, self._checked(stream), max_files=max_files, max_fields=_MAX_FIELDS)

    def on_end(self) -> None:
        self._ended = True

    async def _checked(self, stream: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async for chunk in stream:
            yield chunk
        if not self._ended:  # raised here, the parser closes the files that it has begun
            raise MultiPartException("the form is cut: its last boundary is missing")


@asynccontextmanager
async def _form(request: Request, max_files: int) -> AsyncGenerator[FormData]:
    """The form in `request`, whose files are open during the block. Raises ApiError (400) when it is none."""
    try:
        form = await _WholeForm(request.headers, request.stream(), max_files).parse()
    except MultiPartException as error:
        raise ApiError(400, "malformed_request", error.message) from error
    try:
        yield form
    finally:
        await form.close()


def uploaded_file(data: bytes, source: str, limits: Limits) -> UploadedFile:
    """A file with content `data`. Raises ApiError: 413 too large, 415 unsupported type, 422 empty."""
    if len(data) > limits.max_upload_bytes:
        raise _too_large(limits.max_upload_bytes)
    try:
        sniff(data)
    except DocumentError as error:
        raise failures.error_of(error) from error
    return UploadedFile(hashlib.sha256(data).hexdigest(), source, data)


def _limited(request: Request, max_bytes: int) -> Request:
    """The same request. Reading more than `max_bytes` of its body raises ApiError (413)."""
    received = 0

    async def receive_counted() -> Message:
        nonlocal received
        message = await request.receive()
        received += len(message.get("body", b""))
        if received > max_bytes:
            raise _too_large(max_bytes)
        return message

    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise _too_large(max_bytes)
    return Request(request.scope, receive_counted)


def _too_large(max_bytes: int) -> ApiError:
    return ApiError(413, "too_large", f"the body is larger than the limit of {max_bytes} bytes")


def word_pages(body: bytes, limits: Limits) -> WordPages:
    """The pages of an `ExtractRequest`.

    Raises:
        ApiError: 400 invalid JSON, 413 too many pages or words, 422 invalid content.
    """
    return _pages_from_request(_doc_id(body, limits), _parsed(body, ExtractRequest).pages, limits)


def word_pages_or_text(body: bytes, limits: Limits) -> WordPages:
    """The pages of a `SummarizeRequest`; a text is laid out on pages. Raises ApiError as `word_pages`."""
    doc_id = _doc_id(body, limits)
    content = _parsed(body, SummarizeRequest)
    if content.text is None:
        return _pages_from_request(doc_id, content.pages or [], limits)
    max_characters = limits.max_pages * LINES * COLUMNS
    if len(content.text) > max_characters:  # checked before the layout, which takes time
        raise ApiError(
            413,
            "too_large",
            f"the text has {len(content.text)} characters; at most {max_characters} are allowed; split it",
        )
    pages = typeset_pages(content.text, doc_id)
    if not pages:
        raise failures.invalid("text: it has no word; give at least one")
    _check_page_count(len(pages), limits)
    count = WordCount(limits)
    for page in pages:
        count.add(page.number, [word.text for word in page.words])
    return WordPages(doc_id, pages)


def _doc_id(body: bytes, limits: Limits) -> str:
    """The SHA-256 of JSON. Raises ApiError (413) when it has more values than words can have.

    The parser of JSON stops all threads while it works, so its work is bounded first.
    """
    for character, of_word in _JSON_OF_WORD.items():
        number, most = body.count(character), limits.max_words * of_word + _JSON_OF_PAGES
        if number > most:
            message = (
                f"the body has {character.decode()} {number} times; words may have it {most} times; send fewer words"
            )
            raise ApiError(413, "too_large", message)
    return hashlib.sha256(body).hexdigest()


def _parsed(body: bytes, shape: type[Body]) -> Body:
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        errors = error.errors(include_input=False, include_url=False)
        if errors[0]["type"] == "json_invalid":
            raise ApiError(400, "malformed_request", f"body: {errors[0]['msg']}") from error
        raise failures.invalid_fields(errors) from error


def _pages_from_request(doc_id: str, pages: Sequence[PageInput], limits: Limits) -> WordPages:
    _check_page_count(len(pages), limits)
    count = WordCount(limits)
    for number, page in enumerate(pages, 1):
        count.add(number, [word.text for word in page.words])
    return WordPages(doc_id, tuple(_page(doc_id, number, page) for number, page in enumerate(pages, 1)))


def _check_page_count(pages: int, limits: Limits) -> None:
    if pages > limits.max_pages:
        message = f"the document has {pages} pages; at most {limits.max_pages} are allowed; split it"
        raise ApiError(413, "too_large", message)


def _page(doc_id: str, number: int, page: PageInput) -> Page:
    boxes = [_box(word, page, f"pages[{number - 1}].words[{index}]") for index, word in enumerate(page.words)]
    words = tuple(
        Word(text=word.text, box=box, line=line)
        for word, box, line in zip(page.words, boxes, lines_of(boxes), strict=True)
    )
    origin = Provenance(words="annotation", reason="words and boxes from the client")
    return Page(
        doc_id=doc_id,
        number=number,
        width=page.width,
        height=page.height,
        words=words,
        source="",
        image="",
        split="",
        provenance=origin,
    )


def _box(word: WordInput, page: PageInput, path: str) -> Box:
    try:
        return Box.from_pixels(word.box, page.width, page.height)
    except DocumentError as error:
        raise failures.invalid(
            f"{path}.box is {list(word.box)}; it must satisfy 0 <= x0 <= x1 <= {page.width} (page width) and "
            f"0 <= y0 <= y1 <= {page.height} (page height), in pixels"
        ) from error


def lines_of(boxes: Sequence[Box]) -> list[int]:
    """Line number of each word in reading order.

    A new line begins when a word's vertical centre is outside the previous word, or when the word starts further left.
    """
    lines: list[int] = []
    for index, box in enumerate(boxes):
        previous = boxes[index - 1] if index else box
        same_line = previous.y0 <= (box.y0 + box.y1) / 2 <= previous.y1 and box.x1 >= previous.x0
        lines.append((lines[-1] if lines else 0) + (not same_line))
    return lines
