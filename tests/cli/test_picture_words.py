"""`picture words`: which pages are drawn, in which order, and what is said about the others."""

import dataclasses
import re
from itertools import cycle
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from PIL import Image

from layoutray.cli.main import main
from layoutray.cli.picture import words
from layoutray.cli.shared.options import given
from layoutray.document import Page, Provenance
from tests.jobs import page, write_pages

OCR = Provenance(
    words="ocr", reason="a picture has no text layer", engine="tesserocr", version="5.5.4 eng:0", settings="{}"
)


def recognised(number: int, picture: Path, *confidences: float) -> Page:
    """A page of OCR, whose words have the given confidences in turn."""
    made = page(number)
    read = tuple(
        dataclasses.replace(word, confidence=confidence)
        for word, confidence in zip(made.words, cycle(confidences), strict=False)
    )
    return dataclasses.replace(made, words=read, image=str(picture), provenance=OCR)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages 0 to 2 from OCR, page 3 on which OCR found no word, page 4 with annotated words, page 5 without picture."""
    folder = tmp_path_factory.mktemp("words")
    picture = folder / "page.png"
    Image.new("L", (600, 800), 255).save(picture)
    read = [
        recognised(0, picture, 0.9),
        recognised(1, picture, 0.2),
        recognised(2, picture, 0.5),
        recognised(3, picture),
    ]
    write_pages(folder / "pages", [*read, dataclasses.replace(page(4), image=str(picture)), page(5)])
    return folder


def draw(here: Path, *options: str) -> int:
    return main(["picture", "words", str(here / "pages"), *options])


def chosen(here: Path, *options: str) -> list[str]:
    """Sources of the pages that the options choose, in order."""
    parsed = given("picture words", [str(here / "pages"), *options], words.WordsOptions)
    return [page.source for page in words._read(parsed, words._first_ranks(parsed))]


def sources(*numbers: int) -> list[str]:
    return [f"receipt-{number}.png" for number in numbers]


def test_a_png_shows_the_chosen_page(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn: list[bytes] = []
    for choice in (("--page", "page-receipt-1.png"), ("--source", "receipt-1"), ("--worst", "1"), ("--source", "pt-2")):
        assert draw(here, "--out", str(here / "out/words.png"), *choice) == 0
        drawn.append((here / "out/words.png").read_bytes())
    assert drawn[0] == drawn[1] == drawn[2] != drawn[3]
    assert capsys.readouterr().out == f"{here / 'out/words.png'}\n" * 4


def test_the_worst_pages_come_first_and_pages_without_confidence_are_left_out(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chosen(here, "--worst", "9", "--out", "words.pdf") == sources(1, 2, 0)
    assert "2 of 5 pages have no word with a confidence and are left out" in capsys.readouterr().err
    assert chosen(here, "--worst", "2", "--out", "words.pdf") == sources(1, 2)


def test_a_pdf_has_all_pages_with_a_picture_up_to_the_limit(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_document = sorted(range(5), key=lambda number: page(number).doc_id)
    assert chosen(here, "--out", "words.pdf") == sources(*by_document)
    assert capsys.readouterr().err == ""
    out = here / "out/words.pdf"
    assert draw(here, "--out", str(out), "--limit", "3") == 0
    captured = capsys.readouterr()
    assert captured.out == f"{out}\n"
    assert "the PDF has the first 3 of 5 pages" in captured.err
    with pdfium.PdfDocument(out) as document:
        assert len(document) == 3


def test_the_caption_states_the_engine_and_the_confidences(here: Path) -> None:
    captions = [words._caption(one) for one in (recognised(0, here, 1.0, 0.4), recognised(3, here), page(4))]
    counts = [len(page(number).words) for number in (0, 4)]
    below = sum(at % 2 for at in range(counts[0])) / counts[0]
    mean = 1.0 - 0.6 * below
    assert captions == [
        [
            "receipt-0.png, page 1",
            f"{counts[0]} words, mean confidence {mean:.2f}, {below:.0%} below 0.5",
            "words from tesserocr 5.5.4 eng:0",
        ],
        ["receipt-3.png, page 1", "0 words", "words from tesserocr 5.5.4 eng:0"],
        ["receipt-4.png, page 1", f"{counts[1]} words", "words from annotation"],
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--worst", "2"), "--worst is 2, but a PNG shows one page"),
        (("--page", "page-receipt-5.png"), "no page of .* that matches the options has a picture"),
        (("--source", "receipt-4", "--worst", "1"), "none of 1 pages with a picture .* has a word with a confidence"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    here: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert draw(here, *options) == 1
    assert re.search(said, capsys.readouterr().err)


@pytest.mark.parametrize(("option", "said"), [("--worst", "'0' is not a number from 1"), ("--out", "in .png or .pdf")])
def test_values_outside_the_range_are_refused(
    here: Path, option: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        draw(here, option, "0")
    assert said in capsys.readouterr().err
