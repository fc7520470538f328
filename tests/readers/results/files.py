"""Results of services in the formats that their documentation describes, written from words with known places."""

import base64
import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from layoutray.document import Page
from layoutray.errors import DocumentError
from layoutray.readers import Reader
from tests.readers.native import only, put, refusal

Json = dict[str, Any]


@dataclass(frozen=True)
class Spot:
    """A word as a test places it. `sides`: x0, y0, x1, y1 as shares of the page."""

    text: str
    sides: tuple[float, float, float, float]
    confidence: float = 0.9


Line = Sequence[Spot]
Lines = Sequence[Line]


def pages_of_result(reader: Reader, folder: Path, result: object) -> tuple[Page, ...]:
    """The pages that a reader makes of `result`, the only JSON file of `folder`."""
    put(folder / "a.json", json.dumps(result))
    return only(reader, folder).pages


def refusal_of_result(reader: Reader, folder: Path, result: object) -> DocumentError:
    """Why a reader cannot read `result`, the only JSON file of `folder`, or its only page."""
    put(folder / "a.json", json.dumps(result))
    return refusal(reader, folder)


def lines_of(*texts: str) -> list[list[Spot]]:
    """Words of the same width, line below line."""
    return [
        [Spot(word, (0.1 * at, 0.1 * row, 0.1 * at + 0.08, 0.1 * row + 0.05)) for at, word in enumerate(text.split())]
        for row, text in enumerate(texts)
    ]


_TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=6)
_SIDES = st.tuples(*[st.integers(0, 999)] * 2, *[st.integers(1, 1000)] * 2).map(
    lambda box: (box[0] / 1000, box[1] / 1000, max(box[0] + 1, box[2]) / 1000, max(box[1] + 1, box[3]) / 1000)
)
_SPOTS = st.builds(Spot, _TEXTS, _SIDES, st.floats(0, 1))
PAGES: st.SearchStrategy[list[list[list[Spot]]]] = st.lists(
    st.lists(st.lists(_SPOTS, min_size=1, max_size=3), max_size=3), min_size=1, max_size=3
)
"""Pages of lines of words."""


def polygon(sides: Iterable[float], width: float = 1, height: float = 1) -> list[tuple[float, float]]:
    """The corners of a box, clockwise from the top left."""
    x0, y0, x1, y1 = sides
    return [(x * width, y * height) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]


def textract(*pages: Lines) -> Json:
    """A response of DetectDocumentText or GetDocumentTextDetection."""
    ids = (f"00000000-0000-4000-8000-{number:012}" for number in count())
    blocks: list[Json] = []
    for number, lines in enumerate(pages, start=1):
        page: Json = {"BlockType": "PAGE", "Id": next(ids), "Page": number, "Geometry": _geometry((0, 0, 1, 1))}
        blocks.append(page)
        line_ids: list[str] = []
        for line in lines:
            words = [
                {
                    "BlockType": "WORD",
                    "Confidence": 100 * spot.confidence,
                    "Text": spot.text,
                    "TextType": "PRINTED",
                    "Geometry": _geometry(spot.sides),
                    "Id": next(ids),
                    "Page": number,
                }
                for spot in line
            ]
            line_ids.append(next(ids))
            text = " ".join(spot.text for spot in line)
            around = {"BlockType": "LINE", "Text": text, "Id": line_ids[-1], "Page": number}
            blocks += [around | children(word["Id"] for word in words), *words]
        page |= children(line_ids)
    return {"DocumentMetadata": {"Pages": len(pages)}, "Blocks": blocks, "DetectDocumentTextModelVersion": "1.0"}


def children(ids: Iterable[str]) -> Json:
    """The relationships of a block of Textract; a block without children has none."""
    named = list(ids)
    return {"Relationships": [{"Type": "CHILD", "Ids": named}]} if named else {}


def _geometry(sides: tuple[float, float, float, float]) -> Json:
    x0, y0, x1, y1 = sides
    return {
        "BoundingBox": {"Width": x1 - x0, "Height": y1 - y0, "Left": x0, "Top": y0},
        "Polygon": [{"X": x, "Y": y} for x, y in polygon(sides)],
        "RotationAngle": 0,
    }


def azure(*pages: Lines, size: tuple[float, float] = (1000, 2000), unit: str = "pixel") -> Json:
    """The response of an analysis by prebuilt-read; each line is a paragraph."""
    content = ""
    made: list[Json] = []
    paragraphs: list[Json] = []
    for number, lines in enumerate(pages, start=1):
        words: list[Json] = []
        line_list: list[Json] = []
        for line in lines:
            start = len(content)
            for spot in line:
                corners = [side for corner in polygon(spot.sides, *size) for side in corner]
                span = {"offset": len(content), "length": len(spot.text)}
                words.append({"content": spot.text, "polygon": corners, "confidence": spot.confidence, "span": span})
                content += spot.text + " "
            spans = [{"offset": start, "length": len(content) - 1 - start}]
            line_list.append({"content": content[start:-1], "spans": spans})
            paragraphs.append({"content": content[start:-1], "spans": spans, "boundingRegions": []})
            content = content[:-1] + "\n"
        shape = {"pageNumber": number, "angle": 0, "width": size[0], "height": size[1], "unit": unit}
        made.append({**shape, "words": words, "lines": line_list, "spans": []})
    result = {"apiVersion": "2024-11-30", "modelId": "prebuilt-read", "stringIndexType": "textElements"}
    return {
        "status": "succeeded",
        "analyzeResult": {**result, "content": content, "pages": made, "paragraphs": paragraphs},
    }


_IDENTITY = base64.b64encode(struct.pack("<6d", 1, 0, 0, 0, 1, 0)).decode()


def documentai(*pages: Lines, size: tuple[float, float] = (1000, 2000)) -> Json:
    """A Document. Each word has a token for its first character and one for the others."""
    text = ""
    made: list[Json] = []
    for number, lines in enumerate(pages, start=1):
        tokens: list[Json] = []
        line_list: list[Json] = []
        for line in lines:
            start = len(text)
            for spot in line:
                for part in filter(None, (spot.text[:1], spot.text[1:] + " ")):
                    tokens.append({"layout": _layout(len(text), part, spot)})
                    text += part
                tokens[-1]["detectedBreak"] = {"type": "SPACE"}
            text = text[:-1] + "\n"
            line_list.append({"layout": {"textAnchor": _anchor(start, len(text))}})
        dimension = {"width": size[0], "height": size[1], "unit": "pixels"}
        # The matrix of a page that was not turned: 1 0 0, 0 1 0 in 64 bits.
        transform = {"rows": 2, "cols": 3, "type": 6, "data": _IDENTITY}
        page = {"pageNumber": number, "dimension": dimension, "lines": line_list, "blocks": line_list}
        page |= {"transforms": [transform], "image": {"mimeType": "image/png", "width": size[0], "height": size[1]}}
        made.append({**page, "tokens": tokens})
    return {"uri": "", "mimeType": "image/png", "text": text, "pages": made, "shardInfo": {"shardCount": "1"}}


def _layout(start: int, part: str, spot: Spot) -> Json:
    # JSON of Protocol Buffers leaves out zeros.
    vertices = [{axis: side for axis, side in zip("xy", corner, strict=True) if side} for corner in polygon(spot.sides)]
    return {
        "textAnchor": _anchor(start, start + len(part)),
        "confidence": spot.confidence,
        "boundingPoly": {"normalizedVertices": vertices},
        "orientation": "PAGE_UP",
    }


def _anchor(start: int, end: int) -> Json:
    return {"textSegments": [{"startIndex": str(start), "endIndex": str(end)} if start else {"endIndex": str(end)}]}
