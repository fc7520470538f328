"""Azure Document Intelligence (Form Recognizer): NAME.json beside NAME.pdf or a picture, see `recognised`.

A result is an `analyzeResult` of version 3 or 4, with or without the response around it, or the `readResults` of
version 2 and of the Read API of Computer Vision. Keys may have the form that the Python client writes. Words are in
the order of their spans in `content`; a line of the result is a line, a paragraph a block. The results of version 2
have neither, so their words are in the order of the lines, in one block.

Azure states polygons relative to the page as it was sent, also when the text is rotated by `angle`, so a box needs no
rotation here. In a page measured in inches, an inch is 200 pixels where no picture or PDF file says otherwise.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from layoutray.errors import DocumentError
from layoutray.readers.annotation import PageSize, json_object, malformed, member
from layoutray.readers.results.recognised import ResultPage, ResultReader, ResultWord, attempted, attempted_page
from layoutray.readers.results.result_json import (
    Span,
    TextSpans,
    number,
    objects,
    page_number,
    sides_of,
    with_camel_case,
)

DOTS_PER_INCH = 200
"""Pixels of an inch in a page of which there is no picture."""

_ENGINE = "Azure Document Intelligence"


def _pages(data: bytes, where: str) -> Sequence[ResultPage]:
    response = json_object(data, where, with_camel_case)
    if response.get("status", "succeeded") != "succeeded":
        raise malformed(where, f"the analysis has the status {response['status']!r:.40}, expected 'succeeded'")
    result = member(response, "analyzeResult", dict, where) if "analyzeResult" in response else response
    if "readResults" in result:
        pages, version = objects(result, "readResults", where), str(result.get("version", ""))
        return [
            attempted_page(page_number(page, "page"), partial(_old_page, page, version, f"{where}, page {at}"))
            for at, page in enumerate(pages, start=1)
        ]
    paragraphs = _spans(result, "paragraphs", where)
    version = " ".join(str(result[key]) for key in ("modelId", "apiVersion") if key in result)
    pages = objects(result, "pages", where)
    return [
        attempted_page(
            page_number(page, "pageNumber"), partial(_page, page, paragraphs, version, f"{where}, page {at}")
        )
        for at, page in enumerate(pages, start=1)
    ]


def _page(page: dict[str, Any], paragraphs: TextSpans, version: str, where: str) -> ResultPage:
    lines = _spans(page, "lines", where)
    stated = objects(page, "words", where)
    if not stated and objects(page, "lines", where):
        raise malformed(where, "has lines but no words; store the result as the service has returned it")

    def placed(word: dict[str, Any]) -> tuple[int, ResultWord]:
        start, _ = _span(member(word, "span", dict, where), where)
        return start, _word(word, "content", lines.at(start), paragraphs.at(start), where)

    read = [attempted(partial(placed, word)) for word in stated]
    in_order = sorted((word for word in read if not isinstance(word, DocumentError)), key=lambda pair: pair[0])
    faults = [word for word in read if isinstance(word, DocumentError)]
    return _result([*(word for _, word in in_order), *faults], page_number(page, "pageNumber"), page, version, where)


def _old_page(page: dict[str, Any], version: str, where: str) -> ResultPage:
    words = [
        attempted(partial(_word, word, "text", at, None, where))
        for at, line in enumerate(objects(page, "lines", where))
        for word in objects(line, "words", where)
    ]
    return _result(words, page_number(page, "page"), page, version, where)


def _result(
    words: Sequence[ResultWord | DocumentError], stated: int | None, page: dict[str, Any], version: str, where: str
) -> ResultPage:
    width, height = (number(page.get(key), key, where) for key in ("width", "height"))
    scale = DOTS_PER_INCH if page.get("unit") == "inch" else 1
    return ResultPage(
        words=words,
        number=stated,
        size=PageSize(width, height),
        pixels=PageSize(width * scale, height * scale),
        engine=_ENGINE,
        version=version,
    )


def _word(word: dict[str, Any], key: str, line: int | None, block: int | None, where: str) -> ResultWord:
    """A word. `key`: name of its text."""
    text = member(word, key, str, where)
    place = f"{where} ({text!r:.40})"
    polygon = "polygon" if "polygon" in word else "boundingBox"
    confidence = number(word["confidence"], "confidence", place) if "confidence" in word else None
    return ResultWord(
        text=text, sides=sides_of(word.get(polygon), polygon, place), confidence=confidence, line=line, block=block
    )


def _spans(owner: dict[str, Any], key: str, where: str) -> TextSpans:
    return TextSpans(
        (_span(span, where), at)
        for at, element in enumerate(objects(owner, key, where))
        for span in objects(element, "spans", where)
    )


def _span(span: dict[str, Any], where: str) -> Span:
    start, length = member(span, "offset", int, where), member(span, "length", int, where)
    return start, start + length


READER = ResultReader("azure", (".json",), _pages)
