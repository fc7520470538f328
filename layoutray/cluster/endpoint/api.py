"""The HTTP routes, with admission, timeout and error handling for every request."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Query, Request, Response
from pydantic import BaseModel

from layoutray.cluster.endpoint.served_models import DEFAULT
from layoutray.cluster.endpoint.served_version import ServedVersion
from layoutray.cluster.endpoint.service import Service
from layoutray.document import Page
from layoutray.serving import failures, schema, submission, telemetry
from layoutray.serving.access.auth import Access, Call, Caller, returned_on_failure
from layoutray.serving.answer import with_words
from layoutray.serving.capacity import Capacity
from layoutray.serving.description import DescribedApi, request_body
from layoutray.serving.failures import ApiError, within
from layoutray.serving.limits import Admission, Limits
from layoutray.serving.model import ModelDescription
from layoutray.serving.request_log import request_id
from layoutray.serving.telemetry import Telemetry

_HEALTH_SECONDS = 5.0

_Name = Annotated[str, Path(description="one of `GET /v1/models`", examples=["invoices"])]
_Words = Annotated[bool, Query(description="also return all words of the pages")]
_Explain = Annotated[bool, Query(description="also return the words with the largest weights in the pooled states")]


class Routes:
    """The routes of the endpoint.

    Args:
        access: who may use the routes, and the log of what they did.
        capacity: how many documents may be in flight, besides those that may wait.
        exposition: gives all metrics as the text that Prometheus scrapes.
    """

    def __init__(
        self,
        service: Service,
        limits: Limits,
        metrics: Telemetry,
        access: Access,
        capacity: Capacity,
        exposition: Callable[[], Awaitable[str]],
    ) -> None:
        waiting = limits.max_queued_requests
        self._service = service
        self._limits = limits
        self._telemetry = metrics
        self._access = access
        self._exposition = exposition
        self._files = Admission(lambda: capacity.share(capacity.readers + waiting))
        self._words = Admission(lambda: capacity.share(capacity.models * capacity.batch_size + waiting))

    async def drain(self) -> None:
        """Refuse further documents, and wait until those in flight are answered."""
        await asyncio.gather(self._files.drain(), self._words.drain())

    def api(self) -> FastAPI:
        """The FastAPI application with all routes."""
        api = DescribedApi()
        failures.handle_failures(api)
        errors, allow = failures.error_responses(), self._access.guard.allow
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
            )
        not_ready: dict[int | str, dict[str, Any]] = {503: errors[503]}
        refused: dict[int | str, dict[str, Any]] = {status: errors[status] for status in (401, 403, 429)}
        api.add_api_route(
            "/v1/models",
            self.models,
            response_model=schema.ModelsResponse,
            responses=not_ready | refused,
            dependencies=[Depends(allow("extract", "jobs", "review"))],
        )
        for path in ("/readyz", "/healthz"):
            api.add_api_route(
                path,
                self.ready,
                response_model=schema.HealthResponse,
                response_model_exclude_none=True,
                responses=not_ready,
            )
        api.add_api_route("/livez", self.live)
        api.add_api_route(
            "/metrics",
            self.metrics,
            response_class=Response,
            responses=refused,
            dependencies=[Depends(allow("metrics"))],
        )
        return api

    async def extract(self, request: Request, words: _Words = False) -> schema.ExtractResponse:
        """Extract entities and fields from a document: a file, or pages of words and boxes."""
        return await self._extract(request, DEFAULT, words)

    async def extract_with(self, request: Request, name: _Name, words: _Words = False) -> schema.ExtractResponse:
        """The same with another model than the default one. The first request to it waits until it is loaded."""
        return await self._extract(request, name, words)

    async def _extract(self, request: Request, model: str, words: bool) -> schema.ExtractResponse:
        _, answer, pages = await self.extract_document(request, model)
        return with_words(answer, pages) if words else answer

    async def extract_document(
        self, request: Request, model_name: str = DEFAULT
    ) -> tuple[submission.UploadedFile | submission.WordPages, schema.ExtractResponse, Sequence[Page]]:
        """The document in a request of `request.state.caller`, its answer, and its pages. Raises ApiError."""
        async with self._admitted(request) as call:
            model = await self._service.model_at("/v1/extract", model_name)
            document = await submission.receive(request, self._limits, submission.word_pages)
            call.asks(document.doc_id, model)
            answer, pages = await self._service.extract(document, model, call.admit)
            call.record.outcome = answer.status
        return document, answer, pages

    async def summarize(self, request: Request, explain: _Explain = False) -> schema.SummarizeResponse:
        """Summarise a document: a file, pages of words and boxes, or a text."""
        return await self._summarize(request, DEFAULT, explain)

    async def summarize_with(
        self, request: Request, name: _Name, explain: _Explain = False
    ) -> schema.SummarizeResponse:
        """The same with another model than the default one. The first request to it waits until it is loaded."""
        return await self._summarize(request, name, explain)

    async def _summarize(self, request: Request, model_name: str, explain: bool) -> schema.SummarizeResponse:
        async with self._admitted(request) as call:
            model = await self._service.model_at("/v1/summarize", model_name)
            document = await submission.receive(request, self._limits, submission.word_pages_or_text)
            call.asks(document.doc_id, model)
            answer = await self._service.summarize(document, model, call.admit, explain=explain)
            call.record.outcome = answer.status
            return answer

    @asynccontextmanager
    async def _admitted(self, request: Request) -> AsyncGenerator[Call]:
        """Apply audit, metrics, timeout and admission control to the processing of a document in the `with` block."""
        caller: Caller = request.state.caller
        with (
            self._access.audit.record(caller.name, request.url.path, request_id(request.headers)) as record,
            self._telemetry.request(),
        ):
            async with returned_on_failure(caller), within(self._limits.timeout_s):
                with (self._files if submission.is_form(request) else self._words).enter():
                    yield Call(caller, record)

    async def models(self) -> schema.ModelsResponse:
        """The served models, their paths and entity types; of a model that no request has asked for, its name."""
        async with within(_HEALTH_SECONDS):
            default = await self._service.model()
        others = [(name, served.description) for name, served in self._service.models.others()]
        shown = [_shown(default.model_id, default), *(_shown(name, description) for name, description in others)]
        return schema.ModelsResponse(models=shown)

    async def live(self) -> schema.LiveResponse:
        """200 when the process of the HTTP routes answers, whether or not a model does."""
        return schema.LiveResponse()

    async def ready(self) -> schema.HealthResponse:
        """200 when a model replica answers, else 503; says if the version that an alias names cannot be served."""
        try:
            async with asyncio.timeout(_HEALTH_SECONDS):
                model = await self._service.models.default.ask()
        except TimeoutError as error:
            raise ApiError(
                503, failures.UNAVAILABLE, f"no model replica answered in {_HEALTH_SECONDS:g} s", retryable=True
            ) from error
        others = {
            name: schema.ModelHealth(
                model_version=served.description and served.description.model_version, refused=_refused(served)
            )
            for name, served in self._service.models.others()
        }
        return schema.HealthResponse(
            model_version=model.model_version, refused=_refused(self._service.models.default), models=others or None
        )

    async def metrics(self) -> Response:
        """Metrics since the start, for Prometheus."""
        return Response(await self._exposition(), media_type=telemetry.CONTENT_TYPE)


def _shown(name: str, model: ModelDescription | None) -> schema.ModelResponse:
    """A model as it is shown; None: no request has asked for it."""
    if model is None:
        return schema.ModelResponse(model_id=name)
    return schema.ModelResponse(
        model_id=name,
        model_version=model.model_version,
        path=model.served_at,
        entity_types=list(model.entity_types),
        tried_on=model.tried_on,
    )


def _refused(served: ServedVersion) -> schema.RefusedVersion | None:
    refusal = served.refusal
    return refusal and schema.RefusedVersion(
        model_version=refusal.version.label, code=refusal.code, message=refusal.message
    )
