"""Routes: the queue with its progress, questions, new documents, and what was reviewed."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from layoutray.errors import ApiError
from layoutray.metrics.acceptance import Goal
from layoutray.review import queue, truth
from layoutray.review.documents import AnsweredDocument
from layoutray.review.drift import ReviewDrift
from layoutray.review.promise import AnsweredBy, promises
from layoutray.review.questions import Questions
from layoutray.review.queue import Filter
from layoutray.review.schema import QuestionQuery, QueueQuery, shown_entry
from layoutray.review.sessions import Session, Sessions, Visitor
from layoutray.review.store import ReviewStore

Answer = Callable[[Request, Visitor], Awaitable[AnsweredDocument]]
"""Reads the document that a request uploads, and answers it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRoutes:
    """The routes of the queue.

    Attributes:
        answer: answers an uploaded document; None where nothing can be uploaded.
        answered_by: gives the model of which the promises are shown; None before it is known.
        questions: chooses the values that people are asked about.
        changes: says whether documents have changed.
    """

    store: ReviewStore
    sessions: Sessions
    answer: Answer | None
    answered_by: Callable[[], AnsweredBy | None]
    questions: Questions
    changes: ReviewDrift

    def add_to(self, app: FastAPI) -> None:
        reading, changing = [Depends(self.sessions.reading)], [Depends(self.sessions.changing)]
        app.add_api_route("/documents", self.documents, methods=["GET"], dependencies=reading)
        app.add_api_route("/drift", self.drift, methods=["GET"], dependencies=reading)
        app.add_api_route("/question", self.question, methods=["GET"], dependencies=reading)
        app.add_api_route("/records", self.records, methods=["GET"], dependencies=reading)
        app.add_api_route("/promises", self.promises, methods=["GET"], dependencies=reading)
        app.add_api_route("/documents", self.upload, methods=["POST"], dependencies=changing)
        app.add_api_route("/reviewed.jsonl", self.reviewed, methods=["GET"], dependencies=reading, response_model=None)

    def documents(self, request: Request, wanted: Annotated[QueueQuery, Query()]) -> dict[str, Any]:
        """The documents of a filter, the first to look at first, and how far the review of all of them is."""
        session: Session = request.state.session
        chosen = Filter(
            owner=session.visitor.shown,
            state=wanted.state,
            model_version=wanted.version,
            field=wanted.field,
            below=wanted.below,
        )
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
