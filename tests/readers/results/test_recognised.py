"""Recognition results in a format of the tests: a line `text x0 y0 x1 y1`, `=number width height` begins a page."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from PIL import Image, ImageOps

from layoutray.document import Field
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.readers import Truth
from layoutray.readers.annotation import PageSize, malformed
from layoutray.readers.results.recognised import ResultPage, ResultReader, ResultWord
from tests.ocr.files import pdf, typed
from tests.readers.native import items, only, put, put_picture, refusal, texts


def pages_of(data: bytes, where: str) -> list[ResultPage]:
    pages: list[ResultPage] = []
    words: list[ResultWord] = []
    for row in data.decode().splitlines():
        if row.startswith("="):
            number, *size = (float(part) for part in row[1:].split())
            words = []
            pages.append(
                ResultPage(
                    words=words, number=int(number) or None, size=PageSize(*size) if size else None, engine="eye"
                )
            )
        elif not pages:
            raise malformed(where, "a word before the first page")
        else:
            text, *sides = row.split("|")
            confidence = float(sides.pop()) if len(sides) == 5 else None
            words.append(
                ResultWord(
                    text=text, sides=[float(side) for side in sides] or None, confidence=confidence, line=text[:1]
                )
            )
    return pages


READER = ResultReader("rows", (".rows", ".page.rows"), pages_of)


def numbers(truth: Truth) -> list[int]:
    return [page.number for page in truth.pages]


def test_a_result_belongs_to_the_file_of_its_name_and_may_stand_alone(tmp_path: Path) -> None:
    for name in ("a.rows", "b.png.ROWS", "c.rows", "d.page.rows"):
        put(tmp_path / name, "=1 10 10")
    put_picture(tmp_path / "a.tif")
    put(tmp_path / "a.pdf", pdf(typed("x", x=1, y=1)))
    put_picture(tmp_path / "b.png")
    put(tmp_path / "b.pdf", "of another document")
    put_picture(tmp_path / "d.jpg")
    put_picture(tmp_path / "deep" / "c.png")
    found = items(READER, tmp_path)
    assert {
        key: (item.image.rpartition("/")[2], item.source == item.annotation) for (_, key), item in found.items()
    } == {
        "a": ("a.pdf", False),
        "b.png": ("b.png", False),
        "c": ("", True),
        "d": ("d.jpg", False),
    }
    assert READER.read(found["", "a"]).document.doc_id == hashlib.sha256((tmp_path / "a.pdf").read_bytes()).hexdigest()
    alone = READER.read(found["", "c"])
    assert alone.document.doc_id == hashlib.sha256(b"=1 10 10").hexdigest()
    assert (alone.pages[0].image, alone.pages[0].words) == ("", ())


def test_files_of_fields_are_no_results(tmp_path: Path) -> None:
    put(tmp_path / "a.json", "=1 10 10")
    put(tmp_path / "a.fields.json", "{}")
    put(tmp_path / "b.Fields.JSON", "{}")
    assert items(ResultReader("rows", (".json",), pages_of), tmp_path).keys() == {("", "a")}


@pytest.mark.parametrize(("result", "scan"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_names_are_compared_in_one_normal_form(tmp_path: Path, result: Any, scan: Any) -> None:
    put(tmp_path / f"{normalize(result, 'Müller')}.rows", "=1 10 10")
    put_picture(tmp_path / f"{normalize(scan, 'Müller')}.png")
    put(tmp_path / f"{normalize(scan, 'Müller')}.fields.json", {"total": "9.00"})
    truth = only(READER, tmp_path)
    assert (truth.pages[0].image.endswith(".png"), truth.document.fields) == (True, (Field("total", "9.00"),))
    (tmp_path / f"{normalize(scan, 'Müller')}.png").unlink()
    assert only(READER, tmp_path).document.fields == (Field("total", "9.00"),)


def test_words_are_placed_split_numbered_and_counted(tmp_path: Path) -> None:
    put(
        tmp_path / "a.rows",
        "=1 10 20\nno box\n |0|0|1|1\nzwei Worte|0|2|10|4|0.5\nhy\N{SOFT HYPHEN}|8|0|4|2\nzu|0|10|5|21",
    )
    truth = only(READER, tmp_path)
    (page,) = truth.pages
    assert [(word.text, word.line, word.confidence) for word in page.words] == [
        ("zwei", 0, 0.5),
        ("Worte", 0, 0.5),
        ("hy-", 1, None),
        ("zu", 0, None),
    ]
    assert [tuple(round(side, 6) for side in word.box.to_pixels(10, 20)) for word in page.words] == [
        (0, 2, 4, 4),
        (5, 2, 10, 4),
        (4, 0, 8, 2),
        (0, 10, 5, 20),
    ]
    assert (truth.repairs, truth.dropped) == (2, 2)
    assert (page.provenance.words, page.provenance.engine) == ("annotation", "eye")


def test_the_size_in_pixels_is_that_of_the_picture(tmp_path: Path) -> None:
    put(tmp_path / "alone.rows", "=1 10.4 20\nx|5|5|10.4|10")
    put(tmp_path / "pixels.rows", "=1\nx|50|25|100|50")
    put(tmp_path / "nothing.rows", "=1\nx|50|25|100|50")
    put(tmp_path / "scan.rows", "=1 10 20\nx|5|5|10|10")
    put(tmp_path / "turned.rows", "=1 10 20\nx|5|5|10|10")
    put_picture(tmp_path / "pixels.png", 200, 100)
    put(tmp_path / "scan.pdf", pdf(typed("x", x=1, y=1)))
    put_picture(tmp_path / "turned.jpg", 200, 100, orientation=6)
    pages = {key: READER.read(item).pages[0] for (_, key), item in items(READER, tmp_path).items()}
    assert {key: (page.width, page.height) for key, page in pages.items()} == {
        "alone": (10, 20),
        "pixels": (200, 100),
        "nothing": (100, 50),
        "scan": (1667, 2223),
        "turned": (100, 200),
    }
    assert {key: page.words[0].box.x0 for key, page in pages.items()} == pytest.approx(
        {"alone": 5 / 10.4, "pixels": 0.25, "nothing": 0.5, "scan": 0.5, "turned": 0.5}
    )


STORED = "=1 200 100\nword|20|10|30|60"
UPRIGHT = {
    5: "=1 100 200\nword|10|20|60|30",
    6: "=1 100 200\nword|40|20|90|30",
    7: "=1 100 200\nword|40|170|90|180",
    8: "=1 100 200\nword|10|170|60|180",
}
SHARES = "=1 1 1\nword|0.1|0.1|0.15|0.6"
PIXELS = "=1\nword|20|10|30|60"


@pytest.mark.parametrize(
    ("orientation", "result"),
    [
        *(
            (orientation, stated)
            for orientation in UPRIGHT
            for stated in (STORED, SHARES, PIXELS, UPRIGHT[orientation])
        ),
        (1, STORED),
        (1, SHARES),
        (8, UPRIGHT[8].replace("100 200", "")),
    ],
)
def test_boxes_are_on_the_picture_as_it_is_shown(tmp_path: Path, orientation: int, result: str) -> None:
    """Whether the program that wrote the result has followed EXIF or not."""
    stored, exif = Image.new("L", (200, 100)), Image.Exif()
    stored.paste(255, (20, 10, 30, 60))
    exif[0x0112] = orientation
    stored.save(tmp_path / "a.png", exif=exif)
    put(tmp_path / "a.rows", result)
    with Image.open(tmp_path / "a.png") as picture:
        shown = ImageOps.exif_transpose(picture)
    (page,) = only(READER, tmp_path).pages
    assert (page.width, page.height) == shown.size
    assert page.words[0].box.to_pixels(*shown.size) == pytest.approx(shown.getbbox())


def test_pages_keep_the_numbers_that_the_document_has(tmp_path: Path) -> None:
    put(tmp_path / "alone.rows", "=3 1 1\n=7 1 1")
    put(tmp_path / "repeated.rows", "=1 1 1\n=1 1 1")
    put(tmp_path / "unnumbered.rows", "=0 1 1\n=5 1 1")
    put(tmp_path / "one.rows", "=27 1 1")
    put(tmp_path / "two.rows", "=2 1 1")
    put(tmp_path / "far.rows", "=2 1 1\n=9 1 1")
    put_picture(tmp_path / "one.png")
    two = pdf(typed("x", x=1, y=1), typed("x", x=1, y=1))
    put(tmp_path / "two.pdf", two)
    put(tmp_path / "far.pdf", two)
    truths = {key: READER.read(item) for (_, key), item in items(READER, tmp_path).items()}
    assert {key: (numbers(truth), truth.document.num_pages) for key, truth in truths.items()} == {
        "alone": ([3, 7], 7),
        "repeated": ([1, 2], 2),
        "unnumbered": ([1, 2], 2),
        "one": ([27], 1),
        "two": ([2], 2),
        "far": ([1, 2], 2),
    }


def test_pages_of_a_tiff_file_have_their_own_sizes(tmp_path: Path) -> None:
    put(tmp_path / "fax.rows", "=1\nx|0|0|20|10\n=2\nx|0|0|20|10")
    frames = [Image.new("L", size) for size in ((40, 20), (80, 40))]
    frames[0].save(tmp_path / "fax.tiff", save_all=True, append_images=frames[1:])
    assert [(page.width, page.words[0].box.x1) for page in only(READER, tmp_path).pages] == [(40, 0.5), (80, 0.25)]


@pytest.mark.parametrize("name", ["a.fields.json", "a.png.fields.json"])
def test_fields_come_from_the_file_beside_the_result(tmp_path: Path, name: str) -> None:
    put(tmp_path / "a.png.rows", "=1 10 10\nx|1|1|2|2")
    put_picture(tmp_path / "a.png")
    put(tmp_path / name, json.dumps({"total": " 9.00 ", "item": ["tea", "", "milk"], "date": ""}))
    fields = only(READER, tmp_path).document.fields
    assert fields == (Field("total", "9.00"), Field("item", "tea"), Field("item", "milk"))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("", "the result has no page"),
        ("=1 10 10\nx|1|1|2|2|95", r"page 1 \('x'\): the confidence is 95.0 of 1"),
        ("=1 10 10\nx|1|1|2|2|nan", "the confidence is nan"),
        ("=1 0 10", "the page is 0.0 x 10.0"),
        ("x|1|1|2|2", "a word before the first page"),
        ("=1 1 1\n=2 1 1", r"2 pages, but .*a\.png has 1; give each result"),
    ],
)
def test_what_is_wrong_with_a_result_is_told(tmp_path: Path, result: str, message: str) -> None:
    put(tmp_path / "a.rows", result)
    put_picture(tmp_path / "a.png")
    refused = refusal(READER, tmp_path)
    assert re.search(rf"a\.rows.*{message}", str(refused))
    assert refused.reason == Reason.BAD_ANNOTATION


@pytest.mark.parametrize("fields", ['{"total": 9}', '{"total": ["9", null]}', "[]", "{"])
def test_fields_that_are_no_texts_are_refused(tmp_path: Path, fields: str) -> None:
    put(tmp_path / "a.rows", "=1 10 10")
    put(tmp_path / "a.fields.json", fields)
    with pytest.raises(DocumentError, match=r"a\.fields\.json"):
        only(READER, tmp_path)


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    put_picture(tmp_path / "a.png")
    with pytest.raises(InputError, match=r"NAME\.rows or NAME\.page\.rows"):
        list(READER.discover(str(tmp_path)))


def test_the_words_of_a_result_are_in_its_order(tmp_path: Path) -> None:
    put(tmp_path / "a.rows", "=1 10 10\nb|5|5|6|6\na|1|1|2|2")
    assert texts(only(READER, tmp_path)) == ["b", "a"]


def test_a_bad_word_costs_itself_and_a_bad_page_costs_itself(tmp_path: Path) -> None:
    bad = "off|0|30|5|40\nnan|nan|0|1|1\nsure|1|1|2|2|-1\nvery|1|1|2|2|1.5"
    put(
        tmp_path / "a.rows",
        f"=1 10 20\ngood|0|0|5|5\n{bad}\n=2 0 0\nx|1|1|2|2\n=3 10 10\nlast|1|1|2|2\n=4 10 10\n{bad}",
    )
    truth = only(READER, tmp_path)
    assert [(page.number, [word.text for word in page.words]) for page in truth.pages] == [(1, ["good"]), (3, ["last"])]
    assert (truth.dropped, truth.document.num_pages) == (4, 4)
    assert re.search(r"page 2: the page is 0\.0 x 0\.0", str(truth.failures[2]))
    assert re.search(r"4 words of a page cannot be used, .*page 4 \('off'\): box .* outside", str(truth.failures[4]))


def test_words_of_another_scale_cost_the_page_though_a_few_fit(tmp_path: Path) -> None:
    """Confidences up to 100 where 1 is the highest: dropping most words would leave a page that nobody has seen."""
    put(tmp_path / "a.rows", "=1 10 10\nfits|1|1|2|2|1\n" + "word|1|1|2|2|95\n" * 20)
    assert "20 words of a page cannot be used" in str(refusal(READER, tmp_path))


def test_the_extent_of_words_without_a_page_size_ignores_what_is_not_finite(tmp_path: Path) -> None:
    put(tmp_path / "a.rows", "=1\nx|50|25|100|50\nnan|nan|nan|nan|nan")
    truth = only(READER, tmp_path)
    assert (truth.pages[0].width, truth.pages[0].height, truth.dropped) == (100, 50, 1)
