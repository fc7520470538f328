"""Google Document AI: NAME.json beside NAME.pdf or a picture, see `recognised`.

A result is a `Document`, with or without the response around it; keys may have the form that the Python client writes.
A word is a run of tokens without white space between them: Document AI makes `(`, `123` and `)` three tokens. Its
confidence is the lowest of its tokens. Characters of scripts without spaces keep their tokens. Words are in the order
of `text`.

Document AI turns a skewed or rotated page upright before it reads it, and states polygons relative to that picture.
`transforms` are the matrices that turned the page; their inverse gives the positions on the page as it was sent. They
turn a page about its centre, so the centre of the upright page is that of the sent one. Without a picture or PDF file
beside the result, the page has the size of the page that Document AI saw.

A result with text and without tokens, as a field mask makes it, is refused: it has no words with positions.
"""

import base64
import binascii
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from jaxtyping import Float

from layoutray.readers.annotation import PageSize, bounds, json_object, malformed, member
from layoutray.readers.results.recognised import ResultPage, ResultReader, ResultWord, attempted, attempted_page
from layoutray.readers.results.result_json import (
    Span,
    TextSpans,
    corners,
    number,
    object_or_empty,
    objects,
    page_number,
    with_camel_case,
)

_ASK = "the field mask of the request must name (`pages.tokens`)"
_NUMBERS = {5: "<f4", 6: "<f8"}
"""Little-endian formats of the element types of OpenCV that a matrix has: CV_32F and CV_64F."""


@dataclass(frozen=True, slots=True)
class _Token:
    """A token.

    Attributes:
        span: in the text of the document.
        text: without white space.
        ends_word: whether white space or a detected break follows it.
        layout: its place and confidence, as the result states them.
    """

    span: Span
    text: str
    ends_word: bool
    layout: dict[str, Any]


def _pages(data: bytes, where: str) -> Sequence[ResultPage]:
    response = json_object(data, where, with_camel_case)
    document = member(response, "document", dict, where) if "document" in response else response
    shards = _index(object_or_empty(document, "shardInfo", where).get("shardCount", 1), where)
    if shards > 1:
        raise malformed(where, f"the result is one of {shards} shards; merge the shards into one Document")
    text = member(document, "text", str, where) if "text" in document else ""
    revisions = objects(document, "revisions", where)
    version = next((str(each["processor"]) for each in reversed(revisions) if "processor" in each), "")
    pages = objects(document, "pages", where)
    if pages and text.strip() and not any(page.get("tokens") for page in pages):
        raise malformed(where, f"the result has text, but no page has tokens, which {_ASK}")
    return [
        attempted_page(page_number(page, "pageNumber"), partial(_page, page, text, version, f"{where}, page {at}"))
        for at, page in enumerate(pages, start=1)
    ]


def _page(page: dict[str, Any], text: str, version: str, where: str) -> ResultPage:
    image = object_or_empty(page, "image", where)
    owner = image if "width" in image else member(page, "dimension", dict, where)
    # The page that Document AI has read, in pixels.
    upright = PageSize(*(number(owner.get(key), key, where) for key in ("width", "height")))
    size, to_sent = _sent_page(page, upright, where)
    tokens = [_token(token, text, where) for token in objects(page, "tokens", where)]
    lines, blocks = (_spans(page, key, text, where) for key in ("lines", "blocks"))
    covered = _anchor(object_or_empty(page, "layout", where), text, where)
    if not tokens and any(text[start:end].strip() for start, end in covered):
        raise malformed(where, f"has text, but no tokens, which {_ASK}")

    def word(run: list[_Token]) -> ResultWord:
        corners, confidences = list[float](), list[float]()
        for token in run:  # a wrong one costs the whole word, not a part of it
            place = f"{where} ({token.text!r:.40})"
            corners += _corners(member(token.layout, "boundingPoly", dict, place), upright, place)
            if "confidence" in token.layout:
                confidences.append(number(token.layout["confidence"], "confidence", place))
        return ResultWord(
            text="".join(token.text for token in run),
            sides=bounds(_moved(corners, to_sent), where),
            confidence=min(confidences, default=None),
            line=lines.at(run[0].span[0]),
            block=blocks.at(run[0].span[0]),
        )

    in_order = sorted((token for token in tokens if token.text), key=lambda token: token.span)
    words = [attempted(partial(word, run)) for run in _runs(in_order, lines)]
    return ResultPage(
        words=words,
        number=page_number(page, "pageNumber"),
        size=size,
        engine="Google Document AI",
        version=version,
    )


def _runs(tokens: Sequence[_Token], lines: TextSpans) -> Iterator[list[_Token]]:
    run: list[_Token] = []
    for token in tokens:
        if run:
            previous = run[-1]
            adjacent = previous.span[1] == token.span[0] and not previous.ends_word
            one_line = lines.at(previous.span[0]) == lines.at(token.span[0])
            # Chinese, Japanese and Korean characters are wide. Their scripts have no spaces, so a run would be a line.
            wide = any(unicodedata.east_asian_width(each) in "WF" for each in previous.text[-1:] + token.text[:1])
            if not adjacent or not one_line or wide:
                yield run
                run = []
        run.append(token)
    if run:
        yield run


def _token(token: dict[str, Any], text: str, where: str) -> _Token:
    layout = member(token, "layout", dict, where)
    spans = _anchor(layout, text, where)
    written = "".join(text[start:end] for start, end in spans)
    kind = object_or_empty(token, "detectedBreak", where).get("type") or "TYPE_UNSPECIFIED"
    span = (spans[0][0], spans[-1][1]) if spans else (0, 0)
    return _Token(span, written.strip(), written != written.rstrip() or kind != "TYPE_UNSPECIFIED", layout)


def _corners(polygon: dict[str, Any], upright: PageSize, where: str) -> list[float]:
    """The corners of a polygon in pixels of the upright page."""
    if not polygon.get("normalizedVertices"):
        return corners(polygon.get("vertices"), "vertices", where)
    scales = upright.width, upright.height
    shares = corners(polygon["normalizedVertices"], "normalizedVertices", where)
    return [share * scales[at % 2] for at, share in enumerate(shares)]


def _spans(page: dict[str, Any], key: str, text: str, where: str) -> TextSpans:
    return TextSpans(
        (span, at)
        for at, element in enumerate(objects(page, key, where))
        for span in _anchor(member(element, "layout", dict, where), text, where)
    )


def _anchor(layout: dict[str, Any], text: str, where: str) -> list[Span]:
    """The spans of an element in the text. A missing start is 0."""
    segments = objects(object_or_empty(layout, "textAnchor", where), "textSegments", where)
    spans = [tuple(_index(each.get(key, 0), where) for key in ("startIndex", "endIndex")) for each in segments]
    for start, end in spans:
        if not 0 <= start <= end <= len(text):
            raise malformed(where, f"a text anchor is {start} to {end}, but the text has {len(text)} characters")
    return [(start, end) for start, end in spans]


def _index(value: object, where: str) -> int:
    """An integer, which JSON of Protocol Buffers writes as text."""
    try:
        return int(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError) as error:
        raise malformed(where, f"{value!r:.40} is not an index, expected an integer") from error


def _sent_page(page: dict[str, Any], upright: PageSize, where: str) -> tuple[PageSize, Float[np.ndarray, "3 3"]]:
    """Size of the page as it was sent, and the matrix from positions on the upright page to positions on it."""
    transforms: list[Float[np.ndarray, "3 3"]] = []
    for each in objects(page, "transforms", where):
        kind, encoded = member(each, "type", int, where), member(each, "data", str, where)
        try:  # a matrix of 2 or 3 rows and 3 columns in the encoding of OpenCV
            values = np.frombuffer(base64.b64decode(encoded), _NUMBERS[kind]).reshape(-1, 3)
            transforms.append(np.vstack([values.astype(float), [0, 0, 1]])[:3])
        except (KeyError, ValueError, binascii.Error) as error:
            message = f"`transforms` has a matrix of type {kind!r} that cannot be read: {error}"
            raise malformed(where, message) from error
    if not transforms:
        return upright, np.eye(3)
    try:
        inverse = np.linalg.inv(reduce(lambda first, then: then @ first, transforms))
    except np.linalg.LinAlgError as error:
        raise malformed(where, "`transforms` has no inverse, so positions on the page are unknown") from error
    x, y = _moved([upright.width / 2, upright.height / 2], inverse)
    return PageSize(2 * x, 2 * y), inverse


def _moved(points: Sequence[float], matrix: Float[np.ndarray, "3 3"]) -> list[float]:
    flat = np.asarray(points, float).reshape(-1, 2)
    moved = np.column_stack([flat, np.ones(len(flat))]) @ matrix.T
    return (moved[:, :2] / moved[:, 2:]).ravel().tolist()


READER = ResultReader("documentai", (".json",), _pages)
