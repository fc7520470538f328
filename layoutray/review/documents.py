"""Documents with answers, as they enter a review."""

import json
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter

from layoutray.document import Page
from layoutray.review.values import Prediction

_PAGE = TypeAdapter(Page)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredDocument:
    """A document, its pages in order, and what a model has said about it.

    Attributes:
        content: the bytes of its file, if pages have no URI of a picture; else empty.
        rank: its place in a list of `layoutray select`, from 1; None if it is in none.
    """

    doc_id: str
    source: str
    model_id: str
    model_version: str
    pages: tuple[Page, ...]
    said: tuple[Prediction, ...]
    content: bytes = b""
    rank: int | None = None


def page_to_json(page: Page) -> str:
    """A page as JSON, without loss."""
    return json.dumps(asdict(page), ensure_ascii=False, separators=(",", ":"))


def page_from_json(text: str) -> Page:
    """The page that `page_to_json` gave."""
    return _PAGE.validate_json(text)
