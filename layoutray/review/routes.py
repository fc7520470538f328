"""Routes of the review page: sessions, the queue with its progress, questions, documents, and what was reviewed."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from layoutray.document import Page
from layoutray.errors import ApiError
from layoutray.metrics.acceptance import Goal
from layoutray.review import queue, truth
from layoutray.review.documents import AnsweredDocument
from layoutray.review.drift import ReviewDrift
from layoutray.review.pictures import PagePictures
from layoutray.review.promise import AnsweredBy, promises
from layoutray.review.questions import Questions
from layoutray.review.queue import Filter
from layoutray.review.schema import (
    MOST,
    QuestionQuery,
    QueueQuery,
    Save,
    SignIn,
    shown_correction,
    shown_entry,
    shown_review,
)
from layoutray.review.sessions import COOKIE, COOKIE_PATH, SESSION_PATH, Session, Sessions, Visitor
from layoutray.review.store import ConflictError, Entry, ReviewStore, UnseenError

Answer = Callable[[Request, Visitor], Awaitable[AnsweredDocument]]
"""Reads the document that a request uploads, and answers it."""

_DOCUMENT = "/documents/{number}"
_Number = Annotated[int, Path(ge=0, le=MOST)]
_NEVER_CHANGES = {"Cache-Control": "private, max-age=3600"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """The routes. Nobody sees the documents of others: they are answered as unknown ones.

    Attributes:
        answer: answers an uploaded document; None where nothing can be uploaded.
        answered_by: gives the model of which the promises are shown; None before it is known.
        questions: chooses the values that people are asked about.
        changes: says whether documents have changed.
        pictures: draws pages.
        commands: what to run to train on the corrections, for people.
    """

    store: ReviewStore
    sessions: Sessions
    answer: Answer | None
    answered_by: Callable[[], AnsweredBy | None]
    questions: Questions
    changes: ReviewDrift
    pictures: PagePictures
    commands: Sequence[str]

    def add_to(self, app: FastAPI) -> None:
        routes: list[tuple[str, str, Callable[..., Any]]] = [
            ("DELETE", SESSION_PATH, self.sign_out),
            ("GET", "/documents", self.documents),
            ("POST", "/documents", self.upload),
            ("GET", "/drift", self.drift),
            ("GET", "/question", self.question),
            ("GET", "/records", self.records),
            ("GET", "/promises", self.promises),
            ("GET", "/reviewed.jsonl", self.reviewed),
            ("GET", _DOCUMENT, self.document),
            ("PUT", _DOCUMENT, self.save),
            ("GET", f"{_DOCUMENT}/history", self.history),
            ("GET", f"{_DOCUMENT}/pages/{{page}}", self.words),
            ("GET", f"{_DOCUMENT}/pages/{{page}}/picture", self.picture),
        ]
        app.add_api_route(SESSION_PATH, self.session, methods=["GET"])
        app.add_api_route(SESSION_PATH, self.sign_in, methods=["POST"])
        self.sessions.add_routes(app, routes)

    async def session(self, request: Request) -> dict[str, Any]:
        """Who is signed in, and the token for changes."""
        try:
            return self._shown(await self.sessions.of(request))
        except ApiError as error:
            if error.status != 401:
                raise
            return self._shown(None)

    async def sign_in(self, request: Request, response: Response, body: SignIn) -> dict[str, Any]:
        """Begin a session. FastAPI refuses bodies that are not declared as JSON, which forms of other sites send."""
        cookie, session = await self.sessions.begin(body.key, body.reviewer)
        over_tls = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
        response.set_cookie(COOKIE, cookie, path=COOKIE_PATH, httponly=True, samesite="strict", secure=over_tls)
        return self._shown(session)

    async def sign_out(self, request: Request, response: Response) -> dict[str, Any]:
        """End the session."""
        await self.sessions.end(request.cookies.get(COOKIE, ""))
        response.delete_cookie(COOKIE, path=COOKIE_PATH)
        return self._shown(None)

    def _shown(self, session: Session | None) -> dict[str, Any]:
        known = {"signed_in": session is not None, "needs_key": self.sessions.authenticator.needs_key}
        if session is None:
            return known
        names = {"account": session.visitor.key, "reviewer": session.reviewer, "token": session.token}
        return known | names | {"uploads": self.answer is not None, "commands": list(self.commands)}

    def documents(self, request: Request, wanted: Annotated[QueueQuery, Query()]) -> dict[str, Any]:
        """The documents of a filter, the first to look at first, and how far the review of all of them is."""
        session: Session = request.state.session
        chosen = Filter(owner=session.visitor.shown, **wanted.model_dump(exclude={"offset", "limit"}))
        first = self.changes.shown.get(chosen.owner, ())
        entries, count = queue.listed(self.store, chosen, wanted.offset, wanted.limit, first)
        progress = asdict(queue.progress(self.store, chosen.owner))
        changes = queue.last_changes(self.store, [entry.number for entry in entries])
        # When a document was changed last, in seconds since 1970, and by whom.
        shown = [(entry, *changes.get(entry.number, (None, None))) for entry in entries]
        documents = [shown_entry(entry) | {"changed": time, "reviewer": reviewer} for entry, time, reviewer in shown]
        return {"documents": documents, "count": count, "progress": progress}

    def drift(self, request: Request) -> dict[str, Any]:
        """Since when documents have changed, what shows it, and the documents to label first; empty without a change.

        Documents that are finished are left out.
        """
        session: Session = request.state.session
        found = self.changes.found(session.visitor.shown)
        if found.since is None:
            return {}
        shown = [(self.store.entry(one.number), one.signals) for one in found.shown_by]
        documents = [shown_entry(one) | {"signals": signals} for one, signals in shown if one and one.state != "done"]
        return {"since": found.since.time, "signals": [*map(asdict, found.signals)], "documents": documents}

    def question(self, request: Request, wanted: Annotated[QuestionQuery, Query()]) -> dict[str, Any]:
        """The value whose answer is worth most, and the number of questions left; only that number if none is left.

        Raises:
            ApiError: (409) while all questions that are left were asked of others.
        """
        session: Session = request.state.session
        asked = {(int(number), value_id) for number, _, value_id in (one.partition("/") for one in wanted.without)}
        found = self.questions.next(session.visitor.shown, session.token, asked)
        if not found and Questions(self.store).next(session.visitor.shown, session.token, asked):
            message = "others were asked about the values that are left; try again in two minutes"
            raise ApiError(409, "asked_of_others", message, retryable=True)
        return asdict(found) if found else {"left": 0}

    def records(self, request: Request) -> dict[str, list[str]]:
        """Names of the values of each record that a model has answered."""
        session: Session = request.state.session
        return queue.record_names(self.store, session.visitor.shown)

    def promises(self, request: Request) -> list[str]:
        """What is promised of accepted answers, and what would raise it."""
        session: Session = request.state.session
        model = self.answered_by()
        found = promises(self.store, session.visitor.shown, model, Goal()) if model else ()
        return [one.text(Goal()) for one in found]

    async def upload(self, request: Request) -> dict[str, Any]:
        """Answer a document and put it into the queue."""
        session: Session = request.state.session
        if self.answer is None:
            raise ApiError(404, "not_offered", "this server has no model; start an endpoint with `layoutray serve`")
        document = await self.answer(request, session.visitor)
        return {"number": await run_in_threadpool(self.store.add, document, session.visitor.owner)}

    def reviewed(self, request: Request) -> StreamingResponse:
        """What was finished and answered, as reader `reviewed` takes it."""
        session: Session = request.state.session
        headers = {"Content-Disposition": 'attachment; filename="reviewed.jsonl"'}
        documents = truth.reviewed(self.store, session.visitor.shown)
        lines = (json.dumps(document, ensure_ascii=False) + "\n" for document in documents)
        return StreamingResponse(lines, media_type="application/x-ndjson", headers=headers)

    def document(self, request: Request, number: _Number) -> dict[str, Any]:
        """A document with its values, and the sizes of its pages."""
        self._own(request, number)
        review = self.store.review(number)
        if review is None:  # deleted a moment ago
            raise _unknown(number)
        pages = [{"page": page, "width": width, "height": height} for page, width, height in self.store.pages(number)]
        return shown_review(review) | {"pages": pages}

    def save(self, request: Request, number: _Number, body: Save) -> dict[str, Any]:
        """Store the values of a document; 409 after a conflict, 422 if it cannot be finished."""
        session: Session = request.state.session
        self._own(request, number)
        self._check_words(number, body)
        values = [value.value() for value in body.values]
        try:
            self.store.save(number, body.revision, values, done=body.done, reviewer=session.reviewer)
        except ConflictError as error:
            message = f"the document has changed since revision {body.revision}; load it and save again"
            raise ApiError(409, "conflict", message) from error
        except UnseenError as error:
            message = f"the document cannot be finished: {error}; confirm, change or remove each of them"
            raise ApiError(422, "not_looked_at", message) from error
        entry = self._own(request, number)
        return {"revision": entry.revision, "state": entry.state}

    def history(self, request: Request, number: _Number) -> list[dict[str, Any]]:
        """Who did what when, the latest first."""
        self._own(request, number)
        return [shown_correction(one) for one in reversed(self.store.corrections(number))]

    def words(self, request: Request, number: _Number, page: _Number) -> Response:
        """The words of a page: text, x0, y0, x1 and y1 in pixels, confidence of each."""
        self._own(request, number)
        content = self._page(number, page)
        words = [
            [
                word.text,
                *(round(side, 1) for side in word.box.to_pixels(content.width, content.height)),
                word.confidence,
            ]
            for word in content.words
        ]
        text = json.dumps(words, ensure_ascii=False, separators=(",", ":"))
        return Response(text, media_type="application/json", headers=_NEVER_CHANGES)

    def picture(
        self, request: Request, number: _Number, page: _Number, width: Annotated[int, Query(ge=1, le=10_000)] = 960
    ) -> Response:
        """The picture of a page, at least `width` pixels wide if its own is."""
        self._own(request, number)
        content = self.pictures.picture(number, page, width)
        return Response(content, media_type="image/jpeg", headers=_NEVER_CHANGES)

    def _own(self, request: Request, number: int) -> Entry:
        """The document. Raises ApiError (404) when there is none, or it is somebody else's."""
        session: Session = request.state.session
        entry = self.store.entry(number)
        if entry is None or session.visitor.shown not in (None, entry.owner):
            raise _unknown(number)
        return entry

    def _page(self, number: int, page: int) -> Page:
        found = self.store.page(number, page)
        if found is None:
            raise ApiError(404, "not_found", f"the document has no page {page}")
        return found

    def _check_words(self, number: int, body: Save) -> None:
        """Raise ApiError (404, 422) for words that the document does not have."""
        counts: dict[int | None, int] = {None: 0}
        for value in body.values:
            if value.page not in counts:
                counts[value.page] = len(self._page(number, value.page or 0).words)
            if value.words and max(value.words) >= counts[value.page]:
                message = f"{value.name} has the word {max(value.words)}; page {value.page} has {counts[value.page]}"
                raise ApiError(422, "invalid_request", message)


def _unknown(number: int) -> ApiError:
    return ApiError(404, "not_found", f"there is no document {number}")
