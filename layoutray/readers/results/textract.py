"""Amazon Textract: NAME.json beside NAME.pdf or a picture, see `recognised`.

A result is a response of DetectDocumentText, AnalyzeDocument, AnalyzeExpense, AnalyzeID, GetDocumentTextDetection,
GetDocumentAnalysis or GetExpenseAnalysis. Of the last three, which answer in parts, it is the list of all responses.
Pages that the warnings name are failures. Words come line by line, lines in the order of the LAYOUT elements when the
response has them, else in that of the page. Without LAYOUT elements, a page is one block.

Textract states positions as shares of the page as it was sent, also when its text is rotated (`RotationAngle`), so a
box needs no rotation here. It states no size: without a picture or PDF file, a page has 1000 x 1414 pixels, the
shape of A4.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count
from typing import Any

from layoutray.errors import DocumentError
from layoutray.readers.annotation import PageSize, json_value, malformed, member
from layoutray.readers.results.recognised import ResultPage, ResultReader, ResultWord, attempted, attempted_page
from layoutray.readers.results.result_json import number, objects, page_number, sides_of

NOMINAL = PageSize(1000, 1414)
"""Pixels of a page of which there is no picture."""

_VERSIONS = ("DetectDocumentTextModelVersion", "AnalyzeDocumentModelVersion", "AnalyzeExpenseModelVersion")
_DOCUMENTS = ("ExpenseDocuments", "IdentityDocuments")
_MOST_PAGES = 3000
"""Textract's own limit."""
_Block = dict[str, Any]


def _pages(data: bytes, where: str) -> Sequence[ResultPage]:
    value = json_value(data, where)
    responses = value if isinstance(value, list) else [value]
    for response in responses:
        if not isinstance(response, dict):
            raise malformed(where, f"the JSON value is {response!r:.80}, expected a response or a list of responses")
        if response.get("JobStatus") in ("FAILED", "IN_PROGRESS"):
            raise malformed(where, f"the job is {response['JobStatus']}; store its responses when it has SUCCEEDED")
    if responses and responses[-1].get("NextToken"):
        raise malformed(where, "the last response has a `NextToken`: more follow; store the list of all responses")
    blocks = list(chain.from_iterable(_blocks(response, where) for response in responses))
    by_id = {member(block, "Id", str, where): block for block in blocks}
    version = next((str(response[key]) for response in responses for key in _VERSIONS if key in response), "")
    failed = _failed_pages(responses, where)
    pages = [block for block in by_id.values() if block.get("BlockType") == "PAGE"]
    pages = [page for page in pages if page_number(page, "Page") not in failed]
    numbers = _all_numbers(pages, failed)
    last = _stated_pages(responses) if pages else 0
    for missing in sorted({*range(1, last + 1)} - {*numbers} - failed.keys()):
        failed[missing] = malformed(where, f"no response has page {missing}; store the list of all responses")
    return [
        *(
            attempted_page(stated, partial(_page, page, stated, by_id, version, where))
            for page, stated in zip(pages, numbers, strict=True)
        ),
        *(ResultPage(words=(), number=page, failure=failed[page]) for page in sorted(failed)),
    ]


def _blocks(response: dict[str, Any], where: str) -> list[_Block]:
    """The blocks of a response. AnalyzeExpense and AnalyzeID have them in each document that they have found."""
    documents = [document for key in _DOCUMENTS for document in objects(response, key, where)]
    blocks = [block for owner in (response, *documents) for block in objects(owner, "Blocks", where)]
    if documents and not blocks:
        kinds = " and ".join(key for key in _DOCUMENTS if key in response)
        raise malformed(where, f"`{kinds}` has no `Blocks`, which hold the words; analyse the document again")
    return blocks


def _failed_pages(responses: Sequence[dict[str, Any]], where: str) -> dict[int, DocumentError]:
    """Why pages failed, by the numbers that the warnings name."""
    warnings = [warning for response in responses for warning in objects(response, "Warnings", where)]
    failed = {
        page: malformed(where, f"Textract has not read page {page}: {warning.get('ErrorCode', 'unknown error')!s:.80}")
        for warning in warnings
        for page in warning.get("Pages") or ()
        if type(page) is int and page > 0
    }
    if not failed and any(response.get("JobStatus") == "PARTIAL_SUCCESS" for response in responses):
        raise malformed(where, "the job is a PARTIAL_SUCCESS, and no warning names the pages that failed; repeat it")
    return failed


def _stated_pages(responses: Sequence[dict[str, Any]]) -> int:
    """The number of pages that the document has, as the first response states it; 0 if it does not."""
    metadata = responses[0].get("DocumentMetadata") if responses else None
    stated = metadata.get("Pages") if isinstance(metadata, dict) else None
    return stated if type(stated) is int and stated <= _MOST_PAGES else 0


def _all_numbers(pages: Sequence[_Block], failed: Container[int]) -> list[int]:
    """The number of each page. Pages that state none have the numbers in between, in their order."""
    stated = [page_number(page, "Page") for page in pages]
    free = (number for number in count(1) if number not in failed and number not in stated)
    return [next(free) if number is None else number for number in stated]


def _page(page: _Block, stated: int | None, by_id: Mapping[str, _Block], version: str, where: str) -> ResultPage:
    words = [
        attempted(partial(_word, word, line["Id"], block, where))
        for block, line in _lines(page, by_id, where)
        for word in _children(line, by_id, where)
        if word.get("BlockType") == "WORD"
    ]
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
