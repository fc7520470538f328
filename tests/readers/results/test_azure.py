import re
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given

from layoutray.errors import Reason
from layoutray.readers import load
from tests.ocr.files import pdf, typed
from tests.readers.native import only, put, put_picture
from tests.readers.results.files import PAGES, Json, Spot, azure, lines_of, pages_of_result, refusal_of_result

READER = load("azure")

READ_2 = {
    "status": "succeeded",
    "analyzeResult": {
        "version": "2.1.0",
        "readResults": [
            {
                "page": 1,
                "angle": 7.6,
                "width": 400,
                "height": 800,
                "unit": "pixel",
                "lines": [
                    {
                        "text": "Notice of",
                        "boundingBox": [40, 80, 200, 88, 198, 128, 38, 120],
                        "words": [
                            {"text": "Notice", "boundingBox": [40, 80, 140, 85, 138, 125, 38, 120], "confidence": 0.75},
                            {"text": "of", "boundingBox": [150, 86, 200, 88, 198, 128, 148, 126], "confidence": 0.9},
                        ],
                    },
                    {
                        "text": "tax",
                        "boundingBox": [40, 160, 80, 160, 80, 200, 40, 200],
                        "words": [
                            {"text": "tax", "boundingBox": [40, 160, 80, 160, 80, 200, 40, 200], "confidence": 1}
                        ],
                    },
                ],
            }
        ],
    },
}


written = partial(pages_of_result, READER)


@given(PAGES)
def test_what_is_written_is_read(pages: list[list[list[Spot]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        read = written(Path(folder), azure(*pages))
    assert [page.number for page in read] == [*range(1, len(pages) + 1)]
    for page, lines in zip(read, pages, strict=True):
        assert [(word.text, word.line, word.block) for word in page.words] == [
            (spot.text, number, number) for number, line in enumerate(lines) for spot in line
        ]
        for word, spot in zip(page.words, (spot for line in lines for spot in line), strict=True):
            assert word.box.to_pixels(1, 1) == pytest.approx(spot.sides, abs=1e-9)
            assert word.confidence == spot.confidence


def test_words_are_in_the_order_of_their_spans(tmp_path: Path) -> None:
    result = azure(lines_of("first second", "third"))
    result["analyzeResult"]["pages"][0]["words"].reverse()
    del result["analyzeResult"]["paragraphs"]
    (page,) = written(tmp_path, result)
    assert [(word.text, word.line, word.block) for word in page.words] == [
        ("first", 0, 0),
        ("second", 0, 0),
        ("third", 1, 0),
    ]


def test_pages_in_inches_have_200_pixels_per_inch_or_those_of_the_pdf_file(tmp_path: Path) -> None:
    result = azure([[Spot("word", (0.5, 0.5, 0.75, 0.6))]], size=(8.5, 11), unit="inch")
    (alone,) = written(tmp_path, result)
    assert (alone.width, alone.height, alone.words[0].box.x0) == (1700, 2200, 0.5)
    origin = alone.provenance
    assert (origin.engine, origin.version) == ("Azure Document Intelligence", "prebuilt-read 2024-11-30")
    put(tmp_path / "a.pdf", pdf(typed("x", x=1, y=1)))
    (page,) = only(READER, tmp_path).pages
    assert (page.width, page.height, page.words) == (1667, 2223, alone.words)


def test_results_without_the_response_and_as_the_python_client_writes_them(tmp_path: Path) -> None:
    whole = azure(lines_of("one two"))
    (expected,) = written(tmp_path, whole)
    result = whole["analyzeResult"]
    (page,) = result["pages"]
    points = [
        {
            **word,
            "polygon": [{"x": x, "y": y} for x, y in zip(word["polygon"][::2], word["polygon"][1::2], strict=True)],
        }
        for word in page["words"]
    ]
    named = {"page_number": 1, **{key: page[key] for key in ("width", "height", "unit", "lines")}, "words": points}
    client = {"api_version": result["apiVersion"], "model_id": result["modelId"], "pages": [named]}
    (read,) = written(tmp_path, {**client, "paragraphs": result["paragraphs"]})
    assert (read.words, read.provenance) == (expected.words, expected.provenance)


def test_results_of_version_2(tmp_path: Path) -> None:
    (page,) = written(tmp_path, READ_2)
    assert [(word.text, word.line, word.block, word.confidence) for word in page.words] == [
        ("Notice", 0, 0, 0.75),
        ("of", 0, 0, 0.9),
        ("tax", 1, 0, 1.0),
    ]
    assert page.words[0].box.to_pixels(400, 800) == pytest.approx((38, 80, 140, 125))
    assert (page.width, page.height, page.provenance.version) == (400, 800, "2.1.0")


def test_a_picture_that_the_camera_turned_is_upright(tmp_path: Path) -> None:
    """The service has ignored EXIF: its page is wide, the picture is shown high."""
    put_picture(tmp_path / "a.jpg", 200, 100, orientation=6)
    (page,) = written(tmp_path, azure([[Spot("word", (0.1, 0.2, 0.15, 0.8))]], size=(200, 100)))
    assert (page.width, page.height) == (100, 200)
    assert page.words[0].box.to_pixels(1, 1) == pytest.approx((0.2, 0.1, 0.8, 0.15))


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        ("response", {"status": "failed"}, "the analysis has the status 'failed'"),
        ("response", {"analyzeResult": None}, "`analyzeResult` is None"),
        ("result", {"pages": []}, "has no page"),
        ("result", {"pages": [1]}, "`pages` is .1., expected a list of objects"),
        ("page", {"width": None}, "`width` is None, expected a number"),
        ("page", {"words": []}, "has lines but no words"),
        ("page", {"height": 0}, "the page is 1000.0 x 0.0"),
        ("page", {"lines": [{"spans": [{"offset": 0}]}]}, "`length` is missing"),
        ("word", {"polygon": None}, r"page 1 \('word'\): `polygon` is None, expected a list of corners"),
        ("word", {"polygon": [1, 2, 3]}, "has 3 numbers, expected an even number"),
        ("word", {"polygon": [1, 2, "3", 4]}, "`polygon` is '3', expected a number"),
        ("word", {"polygon": [1, 2, float("inf"), 4]}, "`polygon` is inf, expected a number"),
        ("word", {"span": None}, "`span` is None"),
        ("word", {"content": None}, "`content` is None"),
        ("word", {"confidence": 99}, "the confidence is 99.0 of 1"),
    ],
)
def test_a_damaged_result_is_refused(tmp_path: Path, place: str, change: Json, message: str) -> None:
    result = azure(lines_of("word"))
    (page,) = result["analyzeResult"]["pages"]
    parts = {"response": result, "result": result["analyzeResult"], "page": page, "word": page["words"][0]}
    parts[place] |= change
    refused = refusal_of_result(READER, tmp_path, result)
    assert re.search(rf"a\.json.*{message}", str(refused))
    assert refused.reason == Reason.BAD_ANNOTATION


@pytest.mark.parametrize(
    "change", [{"polygon": None}, {"polygon": [float("nan")] * 8}, {"span": None}, {"content": 1}, {"confidence": -1}]
)
def test_a_bad_word_costs_itself_and_a_bad_page_costs_itself(tmp_path: Path, change: Json) -> None:
    result = azure(lines_of("good bad"), lines_of("other"), lines_of("last"))
    pages = result["analyzeResult"]["pages"]
    pages[0]["words"][1] |= change
    pages[1]["width"] = None
    put(tmp_path / "a.json", result)
    truth = only(READER, tmp_path)
    assert [(page.number, [word.text for word in page.words]) for page in truth.pages] == [(1, ["good"]), (3, ["last"])]
    assert (truth.dropped, [*truth.failures]) == (1, [2])
