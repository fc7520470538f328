import json
import re
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given

from layoutray.errors import DocumentError, Reason
from layoutray.readers import load
from tests.readers.native import only, put, put_picture, refusal
from tests.readers.results.files import (
    PAGES,
    Json,
    Spot,
    children,
    lines_of,
    pages_of_result,
    refusal_of_result,
    textract,
)

READER = load("textract")


written = partial(pages_of_result, READER)


@given(PAGES)
def test_what_is_written_is_read(pages: list[list[list[Spot]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        read = written(Path(folder), textract(*pages))
    assert [page.number for page in read] == [*range(1, len(pages) + 1)]
    for page, lines in zip(read, pages, strict=True):
        assert [(word.text, word.line) for word in page.words] == [
            (spot.text, number) for number, line in enumerate(lines) for spot in line
        ]
        for word, spot in zip(page.words, (spot for line in lines for spot in line), strict=True):
            assert word.box.to_pixels(1, 1) == pytest.approx(spot.sides, abs=1e-9)
            assert word.confidence == pytest.approx(spot.confidence)


def test_the_size_is_nominal_without_a_picture_and_the_engine_is_named(tmp_path: Path) -> None:
    (alone,) = written(tmp_path, textract(lines_of("Total 9.00")))
    assert (alone.width, alone.height) == (1000, 1414)
    origin = alone.provenance
    assert (origin.words, origin.engine, origin.version) == ("annotation", "Amazon Textract", "1.0")
    put_picture(tmp_path / "a.jpg", 200, 100)
    shown = only(READER, tmp_path).pages[0]
    assert (shown.width, shown.height, shown.words) == (200, 100, alone.words)


def test_the_responses_of_a_job_are_one_result(tmp_path: Path) -> None:
    whole = textract(lines_of("one"), lines_of("two", "three"))
    parts = [
        whole | {"JobStatus": "SUCCEEDED", "NextToken": str(at), "Blocks": whole["Blocks"][at : at + 3]}
        for at in range(0, len(whole["Blocks"]), 3)
    ]
    del parts[-1]["NextToken"]
    assert len(parts) > 2
    pages = written(tmp_path, parts)
    assert [[word.text for word in page.words] for page in pages] == [["one"], ["two", "three"]]
    with pytest.raises(DocumentError, match=r"a\.json: the last response has a `NextToken`: .* all responses"):
        written(tmp_path, parts[:-1])
    for stored, message in (
        ([parts[0], parts[2]], "no response has page 2"),
        ([parts[0], parts[1] | {"NextToken": None}], "its child .* is missing"),
    ):
        put(tmp_path / "a.json", json.dumps(stored))
        lost = only(READER, tmp_path)
        assert [page.number for page in lost.pages] == [1]
        assert re.search(rf"a\.json.*: .*{message}; .* all responses", str(lost.failures[2]))


def with_layout(result: Json, *groups: list[int]) -> Json:
    """`result` with a LAYOUT element for each list of line numbers, the elements in a LAYOUT_LIST."""
    page, *blocks = result["Blocks"]
    lines = [block["Id"] for block in blocks if block["BlockType"] == "LINE"]
    texts = [
        {"BlockType": "LAYOUT_TEXT", "Id": f"layout-{at}", **children(lines[number] for number in group)}
        for at, group in enumerate(groups)
    ]
    whole = {"BlockType": "LAYOUT_LIST", "Id": "layout", **children(each["Id"] for each in texts)}
    page |= children([*lines, "layout", *(each["Id"] for each in texts)])
    return {**result, "Blocks": [page, *blocks, whole, *texts]}


def test_layout_elements_are_blocks_and_state_the_reading_order(tmp_path: Path) -> None:
    result = with_layout(textract(lines_of("right", "left", "below", "outside")), [1, 2], [0])
    (page,) = written(tmp_path, result)
    assert [(word.text, word.line, word.block) for word in page.words] == [
        ("left", 0, 0),
        ("below", 1, 0),
        ("right", 2, 1),
        ("outside", 3, 2),
    ]


def test_a_polygon_replaces_a_missing_box(tmp_path: Path) -> None:
    result = textract([[Spot("skewed", (0.2, 0.4, 0.5, 0.6))]])
    geometry = result["Blocks"][-1]["Geometry"]
    del geometry["BoundingBox"]
    geometry["Polygon"][0]["Y"] = 0.3
    (page,) = written(tmp_path, result)
    assert page.words[0].box.to_pixels(1, 1) == (0.2, 0.3, 0.5, 0.6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Blocks": []}, "has no page"),
        ({"Blocks": {}}, "`Blocks` is {}, expected a list of objects"),
        ({"JobStatus": "IN_PROGRESS"}, "the job is IN_PROGRESS"),
        ({"Id": None}, "`Id` is None"),
        ({"Text": 9}, "`Text` is 9"),
        ({"Geometry": {}}, r"`Polygon` is \[\], expected a list of corners"),
        ({"Geometry": {"Polygon": [{"X": "a"}]}}, "`Polygon` is 'a', expected a number"),
        ({"Geometry": {"BoundingBox": {"Left": 0, "Top": 0, "Width": 1}}}, "`Height` is None, expected a number"),
        ({"Confidence": "high"}, "`Confidence` is 'high'"),
        ({"Confidence": 101}, "the confidence is 1.01 of 1"),
    ],
)
def test_a_damaged_result_is_refused(tmp_path: Path, change: Json, message: str) -> None:
    result = textract(lines_of("word"))
    damaged = result if change.keys() & {"Blocks", "JobStatus"} else result["Blocks"][-1]
    damaged |= change
    refused = refusal_of_result(READER, tmp_path, result)
    assert re.search(rf"a\.json.*{message}", str(refused))
    assert refused.reason == Reason.BAD_ANNOTATION


@pytest.mark.parametrize("result", [[1], 1, None, {}, []])
def test_other_json_is_refused(tmp_path: Path, result: object) -> None:
    with pytest.raises(DocumentError) as failed:
        written(tmp_path, result)
    assert failed.value.reason == Reason.BAD_ANNOTATION


def test_pages_that_the_service_has_not_read_are_dead_pages(tmp_path: Path) -> None:
    result = textract(lines_of("one"), lines_of("three"))
    result |= {
        "JobStatus": "PARTIAL_SUCCESS",
        "Warnings": [{"ErrorCode": "BadImage", "Pages": [2, 4]}, {"Pages": None}],
    }
    result["DocumentMetadata"]["Pages"] = 4
    for block in result["Blocks"]:
        block.pop("Page")  # as some programs store it: the pages are those that did not fail
    put(tmp_path / "a.json", result)
    truth = only(READER, tmp_path)
    assert [(page.number, page.words[0].text) for page in truth.pages] == [(1, "one"), (3, "three")]
    assert {page: str(error).partition(": ")[2] for page, error in truth.failures.items()} == {
        2: "Textract has not read page 2: BadImage",
        4: "Textract has not read page 4: BadImage",
    }
    put(tmp_path / "a.json", result | {"Warnings": []})
    assert "PARTIAL_SUCCESS, and no warning names the pages" in str(refusal(READER, tmp_path))


def test_words_of_expenses_are_in_each_document_of_the_result(tmp_path: Path) -> None:
    words = textract(lines_of("Total 9.00"))
    expense = {"ExpenseIndex": 1, "SummaryFields": [], "LineItemGroups": []}
    found = [expense | {"Blocks": words["Blocks"]}, expense | {"ExpenseIndex": 2, "Blocks": words["Blocks"]}]
    (page,) = written(tmp_path, {"DocumentMetadata": {"Pages": 1}, "ExpenseDocuments": found})
    assert [word.text for word in page.words] == ["Total", "9.00"]
    refused = refusal_of_result(READER, tmp_path, {"ExpenseDocuments": [expense]})
    assert re.search("`ExpenseDocuments` has no `Blocks`, which hold the words", str(refused))


BAD_WORDS: list[Json] = [{"Text": None}, {"Text": 9}, {"Geometry": None}, {"Confidence": -1}, {"Confidence": "NaN"}]


@pytest.mark.parametrize("change", BAD_WORDS)
def test_a_bad_word_costs_itself(tmp_path: Path, change: Json) -> None:
    result = textract(lines_of("good bad"), lines_of("other"))
    (bad,) = (block for block in result["Blocks"] if block.get("Text") == "bad")
    bad |= change
    put(tmp_path / "a.json", result)
    truth = only(READER, tmp_path)
    assert [[word.text for word in page.words] for page in truth.pages] == [["good"], ["other"]]
    assert (truth.dropped, truth.failures) == (1, {})
