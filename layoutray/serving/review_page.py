"""The review page at the path `/` of the endpoint: its uploads are answered by the endpoint, its keys let people in."""

import logging
from dataclasses import dataclass
from functools import partial

from fastapi import FastAPI, Request

from layoutray.errors import ApiError
from layoutray.metrics.acceptance import Goal
from layoutray.review.app import add_review_page
from layoutray.review.documents import AnsweredDocument
from layoutray.review.promise import AnsweredBy, Promise, newest, promises
from layoutray.review.sessions import Authenticator, Sessions, Visitor
from layoutray.review.store import ReviewStore
from layoutray.serving.access.auth import Guard
from layoutray.serving.answerer import DEFAULT, Answerer
from layoutray.serving.review_share import for_review
from layoutray.serving.routes import Routes
from layoutray.serving.submission import UploadedFile
from layoutray.store.database import DatabaseError

_log = logging.getLogger(__name__)
_COMMANDS = (
    "layoutray train LABELLED_DOCUMENTS FOLDER_OF_REVIEWED_JSONL --out NEW_FOLDER --name NAME",
    "layoutray promote NAME --on OTHER_PAGES",
)


def mount(api: FastAPI, store: ReviewStore, routes: Routes) -> None:
    """Add the review page to `api`, for the documents of `store`."""
    sessions = Sessions(store.database, _KeyAuthenticator(routes.guard), "anonymous")
    answered_by = partial(_answered_by, store, routes.answerer)
    add_review_page(api, store, sessions, partial(_answered, routes), _COMMANDS, answered_by)

    def promised() -> list[Promise]:
        try:
            model = answered_by()
            return promises(store, None, model, Goal()) if model else []
        except DatabaseError as error:  # the other metrics do not need the file
            _log.error("the review file cannot be used: %s", error)
            return []

    routes.telemetry.show_promises(promised)


def _answered_by(store: ReviewStore, answerer: Answerer) -> AnsweredBy | None:
    """The default model with its thresholds; before it is loaded, the one that answered the last document."""
    served = answerer.models()[DEFAULT].description
    if served is None:
        return newest(store)
    return AnsweredBy((served.model_id,), served.thresholds, served.reference)


@dataclass(frozen=True, slots=True)
class _KeyAuthenticator(Authenticator):
    """Accepts keys with the scope `review`; needs none at an endpoint without keys."""

    guard: Guard

    @property
    def needs_key(self) -> bool:
        return self.guard.needs_key

    async def authenticate(self, key: str) -> Visitor:
        caller = await self.guard.caller(key, "review")
        return Visitor(caller.owner, caller.sees_all, caller.name)

    async def admit(self, visitor: Visitor, path: str) -> bool:
        return await self.guard.admit(visitor.key, path)


async def _answered(routes: Routes, request: Request, visitor: Visitor) -> AnsweredDocument:
    """An uploaded document, answered as `/v1/extract` does, with the same limits, quota and audit log."""
    request.state.caller = await routes.guard.holder(visitor.key)
    answered = await routes.extracted(request)
    file = answered.document
    if not isinstance(file, UploadedFile):
        raise ApiError(415, "unsupported_type", "the page takes files; send words to /v1/extract")
    return for_review(answered, file)
