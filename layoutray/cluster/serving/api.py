"""The HTTP face: routes, and what every request goes through."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response

import layoutray
from layoutray.cluster.serving import failures, schema, submission, telemetry
from layoutray.cluster.serving.failures import ApiError
from layoutray.cluster.serving.limits import Admission, Limits
from layoutray.cluster.serving.service import Service
from layoutray.cluster.serving.telemetry import Telemetry

_HEALTH_SECONDS = 5.0
_COMPONENTS = "#/components/schemas/"
_FILE = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "string", "format": "binary", "description": "PNG, JPEG, TIFF or PDF"}},
}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {"schema": _FILE},
            "application/json": {"schema": {"$ref": f"{_COMPONENTS}{schema.ExtractRequest.__name__}"}},
        },
    }
}

_log = logging.getLogger(__name__)


class _DocumentedApi(FastAPI):
    """Its body is read by hand, under limits; so the JSON form has to be added to the OpenAPI document by hand too."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        wanted = schema.ExtractRequest.model_json_schema(ref_template=f"{_COMPONENTS}{{model}}")
        document["components"]["schemas"] |= wanted.pop("$defs")
        document["components"]["schemas"][schema.ExtractRequest.__name__] = wanted
        return document


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
        api = _DocumentedApi(title="layoutray", version=layoutray.__version__, description="Entities from pages.")
        failures.handle_failures(api)
        documented = failures.documented()
        api.add_api_route(
            "/v1/extract",
            self.extract,
            methods=["POST"],
            response_model=schema.ExtractAnswer,
            response_model_exclude_none=True,
            responses=documented,
            openapi_extra=_BODY,
        )
        not_ready: dict[int | str, dict[str, Any]] = {503: documented[503]}
        api.add_api_route("/v1/models", self.models, response_model=schema.ModelsAnswer, responses=not_ready)
        api.add_api_route("/healthz", self.health, response_model=schema.HealthAnswer, responses=not_ready)
        api.add_api_route("/metrics", self.metrics, response_class=Response)
        return api

    async def extract(
        self, request: Request, words: Annotated[bool, Query(description="also answer all words that were read")] = False
    ) -> schema.ExtractAnswer:
        """Find entities in a document: a file, or pages of words and boxes."""
        with self._telemetry.request():
            async with _within(self._limits.timeout_s):
                with self._admission.enter():
                    answer = await self._service.answer(await submission.receive(request, self._limits))
        if not words:
            answer.pages = [page.model_copy(update={"words": None}) for page in answer.pages]
        return answer

    async def models(self) -> schema.ModelsAnswer:
        """The model that answers here, and the entity types that it looks for."""
        async with _within(_HEALTH_SECONDS):
            model = await self._service.model()
        found = schema.ModelAnswer(model_id=model.model_id, model_version=model.model_version, entity_types=list(model.entity_types))
        return schema.ModelsAnswer(models=[found])

    async def health(self) -> schema.HealthAnswer:
        """Whether a model replica answers; 503 while none does."""
        try:
            async with asyncio.timeout(_HEALTH_SECONDS):
                await self._service.model()
        except TimeoutError as error:
            raise ApiError(503, failures.UNAVAILABLE, f"no model replica answered in {_HEALTH_SECONDS:g} s", retryable=True) from error
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
        raise ApiError(504, "timeout", f"not done within {seconds:g} s; send fewer pages, or try again later", retryable=True) from error
    except ApiError:
        raise
    except Exception as error:
        _log.exception("a request failed")
        raise ApiError(500, "internal", "the request failed; the service's log has the cause", retryable=True) from error
