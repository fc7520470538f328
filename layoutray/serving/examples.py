"""Examples of request and response bodies, for the OpenAPI document: a receipt of one page."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from layoutray.serving import schema, status

_POLYGON = [130.0, 610.0, 196.0, 610.0, 196.0, 634.0, 130.0, 634.0]
_REGIONS = [schema.RegionResponse(page_number=1, polygon=_POLYGON)]
_PAGE = schema.PageInput(
    width=800,
    height=1130,
    words=[
        schema.WordInput(text="TOTAL", box=(40, 610, 118, 634)),
        schema.WordInput(text="12.50", box=(130, 610, 196, 634)),
    ],
)
_READ = schema.PageResponse(page_number=1, width=800, height=1130, num_words=2)
_TIMINGS = schema.Timings(ocr_ms=0, model_ms=4.7, queue_ms=2.1, total_ms=8.3)
_MODEL: dict[str, Any] = {"model_id": "receipts", "model_version": "3"}
_DOC_ID = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_TOTAL = schema.EntityResponse(
    type="total", content="12.50", confidence=0.98, bounding_regions=_REGIONS, words=[1], reading_confidence=1
)
_FIELD = schema.FieldResponse(
    name="total",
    value="12.50",
    content="12.50",
    confidence=0.98,
    score=0.98,
    bounding_regions=_REGIONS,
    accepted=True,
)

BODIES: Sequence[BaseModel] = (
    schema.ExtractRequest(pages=[_PAGE]),
    schema.ExtractResponse(
        **_MODEL,
        status="success",
        doc_id=_DOC_ID,
        document=schema.DocumentResponse(entities=[_TOTAL], fields=[_FIELD]),
        pages=[_READ],
        errors=[],
        timings=_TIMINGS,
    ),
    schema.SummarizeRequest(text="We read documents.\nThen we summarise them."),
    schema.SummarizeResponse(
        **_MODEL,
        status="success",
        doc_id=_DOC_ID,
        summary=schema.SummaryResponse(text="Documents are read and summarised.", tokens=9, tokens_read=9, cut=False),
        pages=[_READ],
        errors=[],
        timings=_TIMINGS,
    ),
    status.ModelsResponse(
        models=[
            status.ModelResponse(
                **_MODEL, path="/v1/extract", entity_types=["date", "total"], tried_on="its own example"
            ),
            status.ModelResponse(
                model_id="invoices",
                model_version="12",
                path="/v1/models/invoices/extract",
                entity_types=["number", "total"],
                tried_on="its own example",
            ),
            status.ModelResponse(model_id="letters"),
        ]
    ),
    status.HealthResponse(
        model_version="3", models={"invoices": status.ModelHealth(model_version="12"), "letters": status.ModelHealth()}
    ),
)
"""One example for each body."""
