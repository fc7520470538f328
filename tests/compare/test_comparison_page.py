"""The report of a comparison has all figures and needs no other file."""

import base64
import io
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from layoutray.compare.compared_model import NOISE, ComparedModel
from layoutray.compare.comparison import Comparison
from layoutray.compare.comparison_page import comparison_page
from layoutray.evaluation.measurement import Measurement
from layoutray.evaluation.page_selection import PageSelection
from tests.browser import chromium, opened
from tests.jobs import pages, write_pages


class Read(HTMLParser):
    """What a browser would show and fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open[-1] != "style":
            self.texts.append(data.strip())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report on four documents, of which the first is found by "A & B" alone and has a picture."""
    folder = tmp_path_factory.mktemp("page")
    Image.new("RGB", (60, 80), "white").save(folder / "page.png")
    made = [replace(one, source=f"scans/<{number}>.png") for number, one in enumerate(pages(4))]
    made[0] = replace(made[0], image=str(folder / "page.png"))
    selection = PageSelection((write_pages(folder / "ingested", made),), "train")
    ids = [one.doc_id for one in made]

    def model(found: list[int], coverage: float | None, milliseconds: float, parameters: int) -> ComparedModel:
        counts = {doc_id: (correct, 4, 4) for doc_id, correct in zip(ids, found, strict=True)}
        measured = Measurement("f1", "max", sum(found) / 16, counts)
        noisy = dict.fromkeys(NOISE, replace(measured, counts=dict.fromkeys(ids, (2, 4, 4))))
        return ComparedModel(
            clean=measured,
            noisy=noisy,
            calibration_error=0.012,
            coverage=coverage,
            milliseconds=milliseconds,
            parameters=parameters,
        )

    models = {
        "A & B": [model([4, 4, 4, 4], 0.4, 12.34, 22_000_000)],
        "plain": [model([1, 4, 4, 4], None, 3.0, 5), model([2, 4, 4, 4], None, 3.0, 5)],
    }
    return comparison_page(Comparison(models, frozenset(ids)), selection)


@pytest.fixture(scope="module")
def read(report: str) -> Read:
    return Read(report)


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_as_wide_as_the_window_and_tables_scroll(report: str, width: int, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(report, encoding="utf-8")
    with chromium() as browser, opened(browser, file.as_uri(), viewport={"width": width, "height": 844}) as page:
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == width
        box = page.locator(".table").first
        assert box.evaluate("box => box.scrollWidth > box.clientWidth") == (width == 390)


def test_every_figure_is_in_its_column(read: Read) -> None:
    texts = read.texts
    assert "2 recipes, 1 seed each, on 4 documents of train" in texts
    assert "F1 at 5 % wrong characters" in texts
    row = texts[texts.index("A & B") :][:9]
    assert row[:5] == ["A & B", "1.000 (1.000 to 1.000)", *["0.500 (0.500 to 0.500)"] * 2, "0.012"]
    assert row[5:8] == ["40 %", "12.3", "22,000,000"]
    (other,) = [text for text in texts if text.startswith("0.844 (")]
    assert texts[texts.index(other) + 1].startswith("+0.156 (")


def test_documents_are_listed_with_their_names_as_text(read: Read) -> None:
    texts = read.texts
    assert texts[texts.index("<0>.png") :][:4] == ["<0>.png", "4", "4.0", "1.5"]
    assert texts[texts.index("plain finds more of these documents") + 1] == "none"


def test_the_page_is_closed_and_fetches_nothing(read: Read) -> None:
    assert read.open == []
    assert len(read.addresses) == 2, "the chart, and the page of the document"
    for address in read.addresses:
        kind, _, data = address.partition(",")
        assert kind == "data:image/png;base64"
        Image.open(io.BytesIO(base64.b64decode(data))).verify()
