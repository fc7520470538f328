"""The review page at the path `/` of the endpoint: its uploads are answered by the endpoint, its keys let people in."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import FastAPI, Request

from layoutray.cluster.endpoint.api import Routes
from layoutray.document import Box, Page, Provenance, Word
from layoutray.review.app import add_review_page
from layoutray.review.documents import AnsweredDocument
from layoutray.review.refused import RefusedError
from layoutray.review.sessions import Sessions, Visitor
from layoutray.review.store import ReviewStore
from layoutray.review.values import predicted_values
from layoutray.serving import schema, submission
from layoutray.serving.access.auth import Guard
from layoutray.serving.answer import with_words
from layoutray.serving.failures import ApiError

_COMMANDS = (
    "layoutray ingest ingest-reviewed FOLDER_OF_REVIEWED_JSONL runs/reviewed",
    "layoutray encode RECIPE runs/labelled runs/reviewed --out runs/windows",
    "layoutray finetune RECIPE runs/windows --init runs/pretrained --out runs/model --register NAME",
    "layoutray promote NAME --on runs/labelled",
)


def mount(api: FastAPI, file: str, sample: float, routes: Routes, guard: Guard) -> None:
    """Add the review page to `api`.

    Args:
        file: with the documents under review.
        sample: share of the accepted values that are shown nevertheless.
    """
    store = ReviewStore.open(file, sample=sample)
    sessions = Sessions(store.database, _KeyAuthenticator(guard), "anonymous")
    add_review_page(api, store, sessions, _UploadAnswerer(routes, guard), _COMMANDS)


@dataclass(frozen=True, slots=True)
class _KeyAuthenticator:
    """Accepts keys with the scope `review`; needs none at an endpoint without keys."""

    guard: Guard

    @property
    def needs_key(self) -> bool:
        return self.guard.needs_key

    async def authenticate(self, key: str) -> Visitor:
        with _refusals():
            caller = await self.guard.caller(key, "review")
        return Visitor(caller.name, caller.sees_all)

    async def is_valid(self, visitor: Visitor) -> bool:
        return await self.guard.is_valid(visitor.owner)


@dataclass(frozen=True, slots=True)
class _UploadAnswerer:
    """Answers an uploaded document as `/v1/extract` does, with the same limits, quota and audit log."""

    routes: Routes
    guard: Guard

    async def __call__(self, request: Request, visitor: Visitor) -> AnsweredDocument:
        with _refusals():
            request.state.caller = await self.guard.holder(visitor.owner)
            document, answer, pages = await self.routes.extract_document(request)
        if not isinstance(document, submission.UploadedFile):
            raise RefusedError(415, "unsupported_type", "the page takes files; send words to /v1/extract")
        return _answered(document, with_words(answer, pages))


@contextmanager
def _refusals() -> Generator[None]:
    """Refuse with the errors of the endpoint, in the `with` block."""
    try:
        yield
    except ApiError as error:
        raise RefusedError(error.status, error.code, str(error), error.headers) from error


def _answered(file: submission.UploadedFile, answer: schema.ExtractResponse) -> AnsweredDocument:
    plain = answer.model_dump()
    found = plain["document"]
    return AnsweredDocument(
        file.doc_id,
        file.source,
        answer.model_id,
        answer.model_version,
        tuple(_page(file, page) for page in answer.pages),
        predicted_values(found["fields"], found["entities"], found["records"]),
        content=file.data,
    )


def _page(file: submission.UploadedFile, page: schema.PageResponse) -> Page:
    answered = page.words or []
    boxes = [Box.repaired((*word.polygon[:2], *word.polygon[4:6]), page.width, page.height)[0] for word in answered]
    words = tuple(
        Word(word.content, box, word.confidence, line=line)
        for word, box, line in zip(answered, boxes, submission.lines_of(boxes), strict=True)
    )
    origin = Provenance("ocr", "read by the endpoint")
    return Page(file.doc_id, page.page_number, page.width, page.height, words, file.source, "", "", origin)
