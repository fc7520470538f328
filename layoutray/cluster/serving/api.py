"""The HTTP face: routes, and what every request goes through."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from pydantic import BaseModel

import layoutray
from layoutray.cluster.serving import failures, schema, submission, telemetry
from layoutray.cluster.serving.failures import ApiError
from layoutray.cluster.serving.limits import Admission, Limits
from layoutray.cluster.serving.schema import ServedPath
from layoutray.cluster.serving.service import Service
from layoutray.cluster.serving.telemetry import Telemetry

_HEALTH_SECONDS = 5.0
_COMPONENTS = "#/components/schemas/"
_FILE = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "string", "format": "binary", "description": "PNG, JPEG, TIFF or PDF"}},
}
_SHAPES = (schema.ExtractRequest, schema.SummarizeRequest)

_log = logging.getLogger(__name__)


class _DocumentedApi(FastAPI):
    """Its bodies are read by hand, under limits; so their JSON forms have to be added to the OpenAPI document by hand too."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        for shape in _SHAPES:
            wanted = shape.model_json_schema(ref_template=f"{_COMPONENTS}{{model}}")
            document["components"]["schemas"] |= wanted.pop("$defs")
            document["components"]["schemas"][shape.__name__] = wanted
        return document


def _body(shape: type[BaseModel]) -> dict[str, Any]:
    """A file, or JSON of that shape."""
    content = {
        "multipart/form-data": {"schema": _FILE},
        "application/json": {"schema": {"$ref": f"{_COMPONENTS}{shape.__name__}"}},
    }
    return {"requestBody": {"required": True, "content": content}}


class Routes:
    """The endpoint's paths.

    Args:
        most: documents that may be in work at once.
    """

    def __init__(self, service: Service, limits: Limits, measured: Telemetry, *, most: int) -> None:
        self._service = service
        self._limits = limits
        self._telemetry = measured
        self._admission = Admission(most)

    def api(self) -> FastAPI:
        """The application that serves them."""
        api = _DocumentedApi(
            title="layoutray",
            version=layoutray.__version__,
            description="Entities from pages, or summaries of documents.",
        )
        failures.handle_failures(api)
        documented = failures.documented()
        documents: list[tuple[ServedPath, Callable[..., Any], type[BaseModel], type[BaseModel]]] = [
            ("/v1/extract", self.extract, schema.ExtractRequest, schema.ExtractAnswer),
            ("/v1/summarize", self.summarize, schema.SummarizeRequest, schema.SummarizeAnswer),
        ]
        for path, answer, request, response in documents:
            api.add_api_route(
                path,
                answer,
                methods=["POST"],
                response_model=response,
                response_model_exclude_none=True,
                responses=documented,
                openapi_extra=_body(request),
            )
        not_ready: dict[int | str, dict[str, Any]] = {503: documented[503]}
        api.add_api_route("/v1/models", self.models, response_model=schema.ModelsAnswer, responses=not_ready)
        api.add_api_route("/healthz", self.health, response_model=schema.HealthAnswer, responses=not_ready)
        api.add_api_route("/metrics", self.metrics, response_class=Response)
        return api

    async def extract(
        self,
        request: Request,
        words: Annotated[bool, Query(description="also answer all words that were read")] = False,
    ) -> schema.ExtractAnswer:
        """Find entities in a document: a file, or pages of words and boxes."""
        async with self._admitted():
            model = await self._service.model_at("/v1/extract")
            document = await submission.receive(request, self._limits, submission.word_pages)
            answer = await self._service.extract(document, model)
        if not words:
            answer.pages = [page.model_copy(update={"words": None}) for page in answer.pages]
        return answer

    async def summarize(
        self,
        request: Request,
        explain: Annotated[bool, Query(description="also answer the words that the model has kept most of")] = False,
    ) -> schema.SummarizeAnswer:
        """Write a summary of a document: a file, pages of words and boxes, or a text."""
        async with self._admitted():
            model = await self._service.model_at("/v1/summarize")
            document = await submission.receive(request, self._limits, submission.word_pages_or_text)
            return await self._service.summarize(document, model, explain=explain)

    @asynccontextmanager
    async def _admitted(self) -> AsyncGenerator[None]:
        """Work on a document during the block: counted, in time, and not too many at once."""
        with self._telemetry.request():
            async with _within(self._limits.timeout_s):
                with self._admission.enter():
                    yield

    async def models(self) -> schema.ModelsAnswer:
        """The model that answers here, where, and the entity types that it looks for."""
        async with _within(_HEALTH_SECONDS):
            model = await self._service.model()
        found = schema.ModelAnswer(
            model_id=model.model_id,
            model_version=model.model_version,
            path=model.path,
            entity_types=list(model.entity_types),
        )
        return schema.ModelsAnswer(models=[found])

    async def health(self) -> schema.HealthAnswer:
        """Whether a model replica answers; 503 while none does."""
        try:
            async with asyncio.timeout(_HEALTH_SECONDS):
                await self._service.model()
        except TimeoutError as error:
            raise ApiError(
                503, failures.UNAVAILABLE, f"no model replica answered in {_HEALTH_SECONDS:g} s", retryable=True
            ) from error
        return schema.HealthAnswer()

    async def metrics(self) -> Response:
        """Counts and times since the start, for Prometheus."""
        return Response(self._telemetry.exposition(), media_type=telemetry.CONTENT_TYPE)


@asynccontextmanager
async def _within(seconds: float) -> AsyncGenerator[None]:
    """End the block after `seconds` (504), and keep what went wrong inside to the log (500)."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise ApiError(
            504, "timeout", f"not done within {seconds:g} s; send fewer pages, or try again later", retryable=True
        ) from error
    except ApiError:
        raise
    except Exception as error:
        _log.exception("a request failed")
        raise ApiError(
            500, "internal", "the request failed; the service's log has the cause", retryable=True
        ) from error
