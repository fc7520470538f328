"""Amazon Textract: NAME.json beside NAME.pdf or a picture, see `recognised`.

A result is a response of DetectDocumentText, AnalyzeDocument, GetDocumentTextDetection or GetDocumentAnalysis. Of the
last two, which answer in parts, it is the list of all responses. Words come line by line, lines in the order of the
LAYOUT elements when the response has them, else in that of the page. Without LAYOUT elements, a page is one block.

Textract states positions as shares of the page as it was sent, also when its text is rotated (`RotationAngle`), so a
box needs no rotation here. It states no size: without a picture or PDF file, a page has 1000 x 1414 pixels, the
shape of A4.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from layoutray.readers.annotation import PageSize, json_value, malformed, member
from layoutray.readers.results.recognised import ResultPage, ResultReader, ResultWord
from layoutray.readers.results.result_json import number, objects, sides_of

NOMINAL = PageSize(1000, 1414)
"""Pixels of a page of which there is no picture."""

_VERSIONS = ("DetectDocumentTextModelVersion", "AnalyzeDocumentModelVersion")
_Block = dict[str, Any]


def _pages(data: bytes, where: str) -> Sequence[ResultPage]:
    value = json_value(data, where)
    responses = value if isinstance(value, list) else [value]
    for response in responses:
        if not isinstance(response, dict):
            raise malformed(where, f"the JSON value is {response!r:.80}, expected a response or a list of responses")
        if response.get("JobStatus") in ("FAILED", "IN_PROGRESS"):
            raise malformed(where, f"the job is {response['JobStatus']}; store its responses when it has SUCCEEDED")
    blocks = list(chain.from_iterable(objects(response, "Blocks", where) for response in responses))
    by_id = {member(block, "Id", str, where): block for block in blocks}
    version = next((str(response[key]) for response in responses for key in _VERSIONS if key in response), "")
    return [_page(block, by_id, version, where) for block in blocks if block.get("BlockType") == "PAGE"]


def _page(page: _Block, by_id: Mapping[str, _Block], version: str, where: str) -> ResultPage:
    words = [
        _word(word, line["Id"], block, where)
        for block, line in _lines(page, by_id, where)
        for word in _children(line, by_id, where)
        if word.get("BlockType") == "WORD"
    ]
    stated = member(page, "Page", int, where) if "Page" in page else None
    return ResultPage(
        words=words, number=stated, size=PageSize(1, 1), pixels=NOMINAL, engine="Amazon Textract", version=version
    )


def _lines(page: _Block, by_id: Mapping[str, _Block], where: str) -> Iterator[tuple[str, _Block]]:
    """Each line of a page once, with the id of its LAYOUT element; lines without one come last, with an empty id."""
    children = _children(page, by_id, where)
    layouts = [child for child in children if str(child.get("BlockType")).startswith("LAYOUT_")]
    seen: set[str] = set()
    for block, parent in (*((layout["Id"], layout) for layout in layouts), ("", page)):
        for line in _children(parent, by_id, where):
            if line.get("BlockType") == "LINE" and line["Id"] not in seen:
                seen.add(line["Id"])
                yield block, line


def _children(block: _Block, by_id: Mapping[str, _Block], where: str) -> list[_Block]:
    """The blocks that `block` contains, in order."""
    place = f"{where}, block {block['Id']}"
    relations = [each for each in objects(block, "Relationships", place) if each.get("Type") == "CHILD"]
    ids = [str(name) for relation in relations for name in member(relation, "Ids", list, place)]
    if missing := [name for name in ids if name not in by_id]:
        raise malformed(
            place, f"its child {missing[0]!r} is missing; the file must be the list of all responses of the job"
        )
    return [by_id[name] for name in ids]


def _word(word: _Block, line: str, block: str, where: str) -> ResultWord:
    place = f"{where}, block {word['Id']}"
    confidence = number(word["Confidence"], "Confidence", place) / 100 if "Confidence" in word else None
    text, geometry = member(word, "Text", str, place), member(word, "Geometry", dict, place)
    if "BoundingBox" in geometry:
        box = member(geometry, "BoundingBox", dict, place)
        left, top, width, height = (number(box.get(key), key, place) for key in ("Left", "Top", "Width", "Height"))
        sides = left, top, left + width, top + height
    else:
        points = [{"x": point.get("X"), "y": point.get("Y")} for point in objects(geometry, "Polygon", place)]
        sides = sides_of(points, "Polygon", place)
    return ResultWord(text=text, sides=sides, confidence=confidence, line=line, block=block)


READER = ResultReader("textract", (".json",), _pages)
