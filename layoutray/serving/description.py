"""The description of the endpoint: its OpenAPI document with examples, and the page `/docs` that shows it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel

from layoutray.serving import examples, schema
from layoutray.serving.body_limit import BodyLimit, most_bytes
from layoutray.serving.limits import Limits
from layoutray.serving.request_log import RequestLog
from layoutray.version import VERSION

_COMPONENTS = "#/components/schemas/"
_FILE = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "string", "format": "binary", "description": "PNG, JPEG, TIFF or PDF"}},
}
_REQUEST_SCHEMAS = (schema.ExtractRequest, schema.SummarizeRequest)

_TAGS = {
    "documents": "A document in, its answer out.",
    "models": "What is served.",
    "jobs": "Many documents, answered later.",
    "webhooks": "Calls when a job has ended.",
    "operation": "For load balancers and monitoring.",
}
"""The sections of the page."""

# Addresses are relative, because the endpoint may lie below any path of a proxy.
_PAGE = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>layoutray</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/files/swagger-ui.css">
  </head>
  <body>
    <div id="docs"></div>
    <script src="docs/files/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
"""
_START = 'SwaggerUIBundle({url: "openapi.json", dom_id: "#docs", deepLinking: true, displayRequestDuration: true});\n'
_SECURITY = {
    # Swagger UI draws its icons from data: addresses, and sets styles of single elements.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class DescribedApi(FastAPI):
    """An application with `/openapi.json` and `/docs`, which loads no file from another server.

    The OpenAPI document has the JSON schemas of request bodies, and examples. FastAPI cannot add the schemas:
    `submission` reads the bodies itself to enforce the limits.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        super().__init__(
            title="layoutray",
            version=VERSION,
            description="Extracts entities and fields from documents, or summarises them. A document has at most "
            f"{limits.max_upload_bytes} bytes, {limits.max_pages} pages and {limits.max_words} words, a page "
            f"{limits.max_page_words} words, and a word {limits.max_word_length} characters; words have at most 10 "
            "characters on average. More is answered with 413.",
            openapi_tags=[{"name": name, "description": text} for name, text in _TAGS.items()],
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,  # a redirect would name the host that the client names
        )
        self.add_middleware(BodyLimit, most=partial(most_bytes, limits=limits))
        self.add_middleware(RequestLog)
        pages: dict[str, Callable[[], Response]] = {"/docs": _page, "/docs/start.js": _start}
        for path, page in pages.items():
            self.add_api_route(path, page, include_in_schema=False)
        # The package is used for these files alone: those of Swagger UI.
        self.mount("/docs/files", StaticFiles(packages=[("fastapi_offline", "static")]))

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        schemas = document["components"]["schemas"]
        for request_schema in _REQUEST_SCHEMAS:
            json_schema = request_schema.model_json_schema(ref_template=f"{_COMPONENTS}{{model}}")
            schemas |= json_schema.pop("$defs")
            schemas[request_schema.__name__] = json_schema
        schemas["WordInput"]["properties"]["text"]["maxLength"] = self._limits.max_word_length
        schemas["PageInput"]["properties"]["words"]["maxItems"] = self._limits.max_page_words
        for example in examples.BODIES:
            schemas[type(example).__name__]["examples"] = [example.model_dump(mode="json", exclude_none=True)]
        return document


def request_body(json_schema: type[BaseModel]) -> dict[str, Any]:
    """OpenAPI description of a body: a file, or JSON that fits `json_schema`."""
    content = {
        "multipart/form-data": {"schema": _FILE},
        "application/json": {"schema": {"$ref": f"{_COMPONENTS}{json_schema.__name__}"}},
    }
    return {"requestBody": {"required": True, "content": content}}


def _page() -> Response:
    return HTMLResponse(_PAGE, headers=_SECURITY)


def _start() -> Response:
    return Response(_START, media_type="text/javascript", headers=_SECURITY)
