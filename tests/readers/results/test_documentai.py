import base64
import math
import re
import struct
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.errors import Reason
from layoutray.readers import load
from tests.readers.native import only, put, put_picture
from tests.readers.results.files import PAGES, Json, Spot, documentai, lines_of, pages_of_result, refusal_of_result

READER = load("documentai")


written = partial(pages_of_result, READER)


@given(PAGES)
def test_what_is_written_is_read(pages: list[list[list[Spot]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        read = written(Path(folder), documentai(*pages))
    assert [page.number for page in read] == [*range(1, len(pages) + 1)]
    for page, lines in zip(read, pages, strict=True):
        for number, line in enumerate(lines):
            words = [word for word in page.words if word.line == word.block == number]
            # A word of wide characters is as many words as it has tokens.
            assert "".join(word.text for word in words) == "".join(spot.text for spot in line)
            known = {spot.confidence: spot.sides for spot in line}
            for word in words:
                assert word.confidence in known
            if len(words) == len(line):
                assert [word.text for word in words] == [spot.text for spot in line]
                for word, spot in zip(words, line, strict=True):
                    assert word.box.to_pixels(1, 1) == pytest.approx(spot.sides, abs=1e-9)


def token(start: int, end: int, x: float, confidence: float = 0.9, **more: object) -> Json:
    sides = ((x, 0.1), (x + 0.1, 0.1), (x + 0.1, 0.2), (x, 0.2))
    polygon = {"normalizedVertices": [{"x": each[0], "y": each[1]} for each in sides]}
    segments = [{"startIndex": str(start), "endIndex": str(end)}]
    layout = {"textAnchor": {"textSegments": segments}, "confidence": confidence, "boundingPoly": polygon}
    return {"layout": layout, **more}


def page_of(*tokens: Json, **more: object) -> Json:
    return {"pageNumber": 1, "dimension": {"width": 100, "height": 200, "unit": "pixels"}, "tokens": tokens, **more}


def test_tokens_without_a_break_between_them_are_one_word(tmp_path: Path) -> None:
    tokens = [
        token(0, 0, 0.9),
        token(0, 1, 0.0, 0.9),
        token(1, 4, 0.1, 0.8),
        token(4, 6, 0.2, 0.95),
        token(6, 8, 0.3, detectedBreak={"type": "HYPHEN"}),
        token(8, 12, 0.4),
        token(12, 14, 0.5),
        token(14, 16, 0.7),
    ]
    (page,) = written(tmp_path, {"text": "(123) A-fter東京都に", "pages": [page_of(*reversed(tokens))]})
    assert [word.text for word in page.words] == ["(123)", "A-", "fter", "東京", "都に"]
    first = page.words[0]
    assert first.box.to_pixels(1, 1) == pytest.approx((0, 0.1, 0.3, 0.2))
    assert first.confidence == 0.8


def test_a_blank_page_has_no_words(tmp_path: Path) -> None:
    (page,) = written(tmp_path, {"pages": [page_of()]})
    assert (page.words, page.width) == ((), 100)


def test_pixels_responses_and_keys_of_the_python_client(tmp_path: Path) -> None:
    (expected,) = written(tmp_path, documentai([[Spot("word", (0.25, 0.5, 0.5, 0.75))]], size=(100, 200)))
    vertices = [{"x": 25, "y": 100}, {"x": 50, "y": 100}, {"x": 50, "y": 150}, {"x": 25, "y": 150}]
    segments = [{"start_index": 0, "end_index": 5}]
    layout = {"text_anchor": {"text_segments": segments}, "confidence": 0.9, "bounding_poly": {"vertices": vertices}}
    page = {
        "page_number": 1,
        "dimension": {"width": 100.0, "height": 200.0},
        "tokens": [{"layout": layout, "detected_break": {"type_": 1}}],
    }
    revisions = [{"id": "1"}, {"id": "2", "processor": "projects/1/processors/ocr"}]
    document = {"text": "word\n", "pages": [page], "revisions": revisions}
    (read,) = written(tmp_path, {"document": document, "human_review_status": {}})
    assert read.words == expected.words
    assert (read.provenance.engine, read.provenance.version) == ("Google Document AI", "projects/1/processors/ocr")


def matrix(*values: float, kind: int = 6) -> Json:
    data = struct.pack(f"<{len(values)}{'d' if kind == 6 else 'f'}", *values)
    return {"rows": len(values) // 3, "cols": 3, "type": kind, "data": base64.b64encode(data).decode()}


def turned(width: float, height: float, degrees: float) -> tuple[tuple[float, ...], float, float]:
    """The matrix that turns a page about its centre into the picture around it, and the size of that picture."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    wide, high = (
        abs(cosine) * width + abs(sine) * height,
        abs(sine) * width + abs(cosine) * height,
    )
    left = wide / 2 - (cosine * width - sine * height) / 2
    top = high / 2 - (sine * width + cosine * height) / 2
    return (cosine, -sine, left, sine, cosine, top), wide, high


@given(st.integers(50, 3000), st.integers(50, 3000), st.floats(-180, 180), st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_places_on_the_upright_page_are_moved_back(
    width: int, height: int, degrees: float, across: float, down: float
) -> None:
    values, wide, high = turned(width, height, degrees)
    a, b, left, c, d, top = values
    x, y = across * width, down * height
    point = {"x": (a * x + b * y + left) / wide, "y": (c * x + d * y + top) / high}
    given_token = token(0, 4, 0)
    given_token["layout"]["boundingPoly"]["normalizedVertices"] = [point] * 4
    image = {"width": wide, "height": high}
    with tempfile.TemporaryDirectory() as folder:
        put_picture(Path(folder) / "a.png", width, height)
        result = {"text": "word", "pages": [page_of(given_token, image=image, transforms=[matrix(*values)])]}
        (page,) = written(Path(folder), result)
    assert (page.width, page.height) == (width, height)
    assert page.words[0].box.to_pixels(1, 1) == pytest.approx((across, down, across, down), abs=1e-6)


def test_several_transforms_are_undone_from_the_last_to_the_first(tmp_path: Path) -> None:
    """A quarter turn clockwise of a page of 200 x 100, then a magnification by two, in 32 and 64 bits."""
    transforms = [matrix(0, -1, 100, 1, 0, 0, kind=5), matrix(2, 0, 0, 0, 2, 0, 0, 0, 1)]
    image = {"width": 200, "height": 400}
    result = {"text": "word", "pages": [page_of(token(0, 4, 0.5), image=image, transforms=transforms)]}
    (page,) = written(tmp_path, result)
    assert (page.width, page.height) == (200, 100)
    assert page.words[0].box.to_pixels(1, 1) == pytest.approx((0.1, 0.4, 0.2, 0.5))


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        ("document", {"pages": []}, "has no page"),
        ("document", {"text": None}, "`text` is None"),
        ("document", {"shardInfo": {"shardCount": "3"}}, "one of 3 shards; merge"),
        ("page", {"image": None, "dimension": None}, "`dimension` is None"),
        ("page", {"image": {"width": 100}}, "`height` is None, expected a number"),
        ("page", {"tokens": [{}]}, "`layout` is missing"),
        ("page", {"transforms": [{"type": 6, "data": "AAA"}]}, "a matrix of type 6 that cannot be read"),
        ("page", {"transforms": [matrix(1, 0, 0, 0, 1, 0) | {"type": 0}]}, "a matrix of type 0 that cannot be read"),
        ("page", {"transforms": [matrix(0, 0, 0, 0, 0, 0)]}, "`transforms` has no inverse"),
        ("layout", {"boundingPoly": None}, "`boundingPoly` is None"),
        ("layout", {"boundingPoly": {}}, r"page 1 \('w'\): `vertices` is None, expected a list of corners"),
        ("layout", {"boundingPoly": {"vertices": [{"x": "1"}]}}, "`vertices` is '1', expected a number"),
        ("layout", {"textAnchor": {"textSegments": [{"endIndex": "99"}]}}, "0 to 99, but the text has 5 characters"),
        ("layout", {"textAnchor": {"textSegments": [{"endIndex": "x"}]}}, "'x' is not an index"),
        ("layout", {"confidence": -1}, "the confidence is -1.0 of 1"),
    ],
)
def test_a_damaged_result_is_refused(tmp_path: Path, place: str, change: Json, message: str) -> None:
    document = documentai(lines_of("word"))
    (page,) = document["pages"]
    parts = {"document": document, "page": page, "layout": page["tokens"][0]["layout"]}
    parts[place] |= change
    refused = refusal_of_result(READER, tmp_path, document)
    assert re.search(rf"a\.json.*{message}", str(refused))
    assert refused.reason == Reason.BAD_ANNOTATION


@pytest.mark.parametrize(
    "change", [{"boundingPoly": None}, {"confidence": -1}, {"boundingPoly": {"vertices": [{"x": 1e300}]}}]
)
def test_a_bad_token_costs_its_word(tmp_path: Path, change: Json) -> None:
    document = documentai(lines_of("good bad"), lines_of("other"))
    document["pages"][0]["tokens"][3]["layout"] |= change  # of the two tokens of `bad`, the second
    put(tmp_path / "a.json", document)
    truth = only(READER, tmp_path)
    assert [[word.text for word in page.words] for page in truth.pages] == [["good"], ["other"]]
    assert (truth.dropped, truth.failures) == (1, {})


def test_text_without_tokens_is_no_empty_page(tmp_path: Path) -> None:
    document = documentai(lines_of("one"), lines_of("two"))
    first, second = document["pages"]
    second |= {"tokens": [], "layout": {"textAnchor": {"textSegments": [{"startIndex": "4", "endIndex": "7"}]}}}
    put(tmp_path / "a.json", document)
    truth = only(READER, tmp_path)
    assert [page.number for page in truth.pages] == [1]
    assert re.search(r"page 2: has text, but no tokens, .*`pages\.tokens`", str(truth.failures[2]))
    first["tokens"] = []
    refused = refusal_of_result(READER, tmp_path, document)
    assert re.search(r"a\.json: the result has text, but no page has tokens", str(refused))
