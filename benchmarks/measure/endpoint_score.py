"""What an endpoint answers on documents with known values, as counts of right values."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from layoutray.document import Field, Page
from layoutray.document.field_type import FieldType
from layoutray.errors import LayoutrayError
from layoutray.evaluation.fields import normal_fields
from layoutray.metrics.field_f1 import exact_items
from layoutray.metrics.item_counts import ItemCounts, count_items

_AT_ONCE = 4
_SECONDS = 300
"""To answer one request, or to serve another version."""

Labelled = tuple[Sequence[Page], Sequence[Field]]
"""The pages of a document in order, and its values."""


def field_counts(
    url: str, documents: Sequence[Labelled], schema: Mapping[str, FieldType], version: str
) -> list[ItemCounts]:
    """Correct, expected and answered values of each document, by their normal forms.

    The words of the documents are sent, not their files.

    Raises:
        LayoutrayError: when the endpoint does not answer with this version.
    """
    with httpx.Client(base_url=url, timeout=_SECONDS) as client, ThreadPoolExecutor(_AT_ONCE) as pool:
        _wait_for(client, documents[0][0], version)
        return list(pool.map(lambda one: _counts(_answer(client, one[0], version), one[1], schema), documents))


def _wait_for(client: httpx.Client, pages: Sequence[Page], version: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while _post(client, pages)["model_version"] != version:
        if time.monotonic() > deadline:
            raise LayoutrayError(f"the endpoint does not serve version {version} after {_SECONDS} seconds")
        time.sleep(1)


def _answer(client: httpx.Client, pages: Sequence[Page], version: str) -> list[Field]:
    answer = _post(client, pages)
    if answer["model_version"] != version:
        raise LayoutrayError(f"version {answer['model_version']} has answered; version {version} was expected")
    return [Field(field["name"], field["value"]) for field in answer["document"]["fields"]]


def _post(client: httpx.Client, pages: Sequence[Page]) -> dict[str, Any]:
    response = client.post("/v1/extract", json={"pages": [_body(page) for page in pages]})
    if response.status_code != 200:
        raise LayoutrayError(f"the endpoint answered {response.status_code}: {response.text[:500]}")
    return response.json()


def _body(page: Page) -> dict[str, Any]:
    words = [{"text": word.text, "box": word.box.to_pixels(page.width, page.height)} for word in page.words]
    return {"width": page.width, "height": page.height, "words": words}


def _counts(answers: Sequence[Field], expected: Sequence[Field], schema: Mapping[str, FieldType]) -> ItemCounts:
    wanted = normal_fields([field for field in expected if field.name in schema], schema)
    return count_items(exact_items(wanted), exact_items(answers))
