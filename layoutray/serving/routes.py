"""The HTTP routes, with admission, timeout and error handling for every request."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Query, Request, Response
from pydantic import BaseModel

from layoutray.errors import ApiError
from layoutray.inference.generation import NO_SELECTION
from layoutray.serving import failures, schema, status, submission, telemetry
from layoutray.serving.access.auth import Call, Caller, Guard, returned_on_failure
from layoutray.serving.answer import DocumentAnswer
from layoutray.serving.answerer import DEFAULT, Answerer
from layoutray.serving.capacity import Capacity
from layoutray.serving.description import DescribedApi, request_body
from layoutray.serving.failures import within
from layoutray.serving.limits import Admission, Limits
from layoutray.serving.model import ModelDescription, ModelState
from layoutray.serving.request_log import request_id
from layoutray.serving.review_share import ReviewShare
from layoutray.serving.telemetry import Telemetry

_HEALTH_SECONDS = 5.0

_Name = Annotated[str, Path(description="one of `GET /v1/models`", examples=["invoices"])]
_Words = Annotated[bool, Query(description="also return all words of the pages")]
FieldNames = Annotated[
    str,
    Query(
        description="the fields to answer, of a model that answers fields by their names: names with commas, each with "
        "a type after a colon, or without one",
        examples=["vendor,date,total:amount"],
    ),
]
_Explain = Annotated[bool, Query(description="also return the words with the largest weights in the pooled states")]


@dataclass(kw_only=True)
class Routes:
    """The routes of the endpoint.

    Attributes:
        capacity: how many documents may be in flight, besides those that may wait.
        review: draws documents of the default model for the review page; None without one.
    """

    answerer: Answerer
    limits: Limits
    telemetry: Telemetry
    guard: Guard
    capacity: Capacity
    review: ReviewShare | None = None

    def __post_init__(self) -> None:
        capacity, waiting = self.capacity, self.limits.max_queued_requests
        self._files = Admission(lambda: capacity.readers + waiting)
        self._words = Admission(lambda: capacity.models * capacity.batch_size + waiting)

    async def drain(self) -> None:
        """Refuse further documents, and wait until those in flight are answered."""
        await asyncio.gather(self._files.drain(), self._words.drain())

    def api(self) -> FastAPI:
        api = DescribedApi(self.limits)
        failures.handle_failures(api)
        errors, allow = failures.error_responses(), self.guard.allow
        document_routes: list[tuple[str, Callable[..., Any], type[BaseModel], type[BaseModel]]] = [
            ("/v1/extract", self.extract, schema.ExtractRequest, schema.ExtractResponse),
            ("/v1/models/{name}/extract", self.extract_with, schema.ExtractRequest, schema.ExtractResponse),
            ("/v1/summarize", self.summarize, schema.SummarizeRequest, schema.SummarizeResponse),
            ("/v1/models/{name}/summarize", self.summarize_with, schema.SummarizeRequest, schema.SummarizeResponse),
        ]
        for path, handler, request, response in document_routes:
            api.add_api_route(
                path,
                handler,
                methods=["POST"],
                response_model=response,
                response_model_exclude_none=True,
                responses=errors,
                openapi_extra=request_body(request),
                dependencies=[Depends(allow("extract"))],
                tags=["documents"],
            )
        not_ready: dict[int | str, dict[str, Any]] = {503: errors[503]}
        refused: dict[int | str, dict[str, Any]] = {code: errors[code] for code in (401, 403, 429)}
        asking, measuring = [Depends(allow("extract", "jobs", "review"))], [Depends(allow("metrics"))]
        about: dict[str, Any] = {"responses": not_ready | refused, "dependencies": asking, "tags": ["models"]}
        api.add_api_route("/v1/models", self.models, **about)
        about = {"response_model_exclude_none": True, "responses": not_ready, "tags": ["operation"]}
        for path in ("/readyz", "/healthz"):
            api.add_api_route(path, self.ready, **about)
        api.add_api_route("/livez", self.live, tags=["operation"])
        about = {"response_class": Response, "responses": refused, "dependencies": measuring, "tags": ["operation"]}
        api.add_api_route("/metrics", self.metrics, **about)
        return api

    async def extract(self, request: Request, words: _Words = False, fields: FieldNames = "") -> Response:
        """Extract entities and fields from a document: a file, or pages of words and boxes.

        404 if the model writes summaries; `GET /v1/models` shows the path of each model.
        """
        answered = await self.extracted(request, fields=fields)
        response = await _response(answered, words=words)
        if self.review and not fields:
            response.background = self.review.task(answered, request.state.caller)
        return response

    async def extract_with(
        self, request: Request, name: _Name, words: _Words = False, fields: FieldNames = ""
    ) -> Response:
        """The same with another model than the default one. The first request to it waits until it is loaded."""
        return await _response(await self.extracted(request, name, fields), words=words)

    async def extracted(self, request: Request, name: str = DEFAULT, fields: str = "") -> DocumentAnswer:
        """The answer to the document in a request of `request.state.caller`. Raises ApiError."""
        return await self._answer(request, "/v1/extract", name, submission.word_pages, fields=fields)

    async def summarize(self, request: Request, explain: _Explain = False) -> Response:
        """Summarise a document: a file, pages of words and boxes, or a text.

        404 if the model writes no summaries; `GET /v1/models` shows the path of each model.
        """
        return await self._summarized(request, DEFAULT, explain)

    async def summarize_with(self, request: Request, name: _Name, explain: _Explain = False) -> Response:
        """The same with another model than the default one. The first request to it waits until it is loaded."""
        return await self._summarized(request, name, explain)

    async def _summarized(self, request: Request, name: str, explain: bool) -> Response:
        parse = submission.word_pages_or_text
        return await _response(await self._answer(request, "/v1/summarize", name, parse, explain=explain))

    async def _answer(
        self,
        request: Request,
        path: schema.ServedPath,
        name: str,
        parse_body: Callable[[bytes, Limits], submission.WordPages],
        *,
        explain: bool = False,
        fields: str = "",
    ) -> DocumentAnswer:
        """The answer of a model, which must be served at `path` of the default model. Raises ApiError."""
        async with self._admitted(request) as call:
            model = await self.answerer.model(name)
            if model.path != path:
                message = f"model {model.model_id} is served at {model.served_at}"
                raise ApiError(404, "not_offered", message)
            if explain and not model.explains:
                raise failures.invalid(f"explain: {model.model_id} has no selection of words; {NO_SELECTION}")
            model = model.asking(fields)
            document = await submission.receive(request, self.limits, parse_body)
            call.asks(document.doc_id, model)
            answered = await self.answerer.answer(document, model, call.admit, owner=call.caller.name, explain=explain)
            call.record.outcome = answered.response.status
            return answered

    @asynccontextmanager
    async def _admitted(self, request: Request) -> AsyncGenerator[Call]:
        """Apply audit, metrics, timeout and admission control to the processing of a document in the `with` block."""
        caller: Caller = request.state.caller
        with (
            self.guard.audit.record(caller.name, request.url.path, request_id(request.headers)) as record,
            self.telemetry.request(),
        ):
            async with returned_on_failure(caller), within(self.limits.timeout_s):
                with (self._files if submission.is_form(request) else self._words).enter(caller.name):
                    yield Call(caller, record)

    async def models(self) -> status.ModelsResponse:
        """The served models, their paths and entity types; of a model that no request has asked for, its name."""
        async with within(_HEALTH_SECONDS, "the model", "try again later"):
            default = await self.answerer.model()
        others = list(self.answerer.models().items())[1:]
        shown = [_shown(default.model_id, default), *(_shown(name, state.description) for name, state in others)]
        return status.ModelsResponse(models=shown)

    async def live(self) -> status.LiveResponse:
        """200 when the process of the HTTP routes answers, whether or not a model does."""
        return status.LiveResponse()

    async def ready(self) -> status.HealthResponse:
        """200 when a model replica answers, else 503; says if the version that an alias names cannot be served."""
        try:
            async with asyncio.timeout(_HEALTH_SECONDS):
                model = await self.answerer.check()
        except TimeoutError as error:
            raise ApiError(
                503, failures.UNAVAILABLE, f"no model replica answered in {_HEALTH_SECONDS:g} s", retryable=True
            ) from error
        default, *others = self.answerer.models().items()
        health = {
            name: status.ModelHealth(
                model_version=state.description and state.description.model_version, refused=_refused(state)
            )
            for name, state in others
        }
        return status.HealthResponse(
            model_version=model.model_version, refused=_refused(default[1]), models=health or None
        )

    async def metrics(self) -> Response:
        """Metrics since the start, for Prometheus."""
        text = await asyncio.to_thread(self.telemetry.exposition)  # promises are read from the review file
        return Response(text, media_type=telemetry.CONTENT_TYPE)


async def _response(answered: DocumentAnswer, *, words: bool = False) -> Response:
    """The answer as JSON, made in a thread: FastAPI would make it in the event loop, which stands meanwhile."""

    def rendered() -> str:
        return (answered.with_words() if words else answered.response).model_dump_json(exclude_none=True)

    return Response(await asyncio.to_thread(rendered), media_type="application/json")


def _shown(name: str, model: ModelDescription | None) -> status.ModelResponse:
    """A model as it is shown; None: no request has asked for it."""
    if model is None:
        return status.ModelResponse(model_id=name)
    return status.ModelResponse(
        model_id=name,
        model_version=model.model_version,
        path=model.served_at,
        entity_types=list(model.entity_types),
        tried_on=model.tried_on,
    )


def _refused(state: ModelState) -> status.RefusedVersion | None:
    refusal = state.refusal
    return refusal and status.RefusedVersion(
        model_version=refusal.version.label, code=refusal.code, message=refusal.message
    )
