"""The report of a comparison has all figures and needs no other file."""

import base64
import io
from html.parser import HTMLParser

from PIL import Image

from layoutray.compare.comparison_page import ComparedDocument, ComparedDocuments, ComparedRecipe, comparison_page
from layoutray.metrics.bootstrap import Interval
from layoutray.report.png import png

PICTURE = png(Image.new("RGB", (4, 3), "white"))
NOISY = {0.05: Interval(0.8, 0.7, 0.85), 0.1: Interval(0.6, 0.5, 0.7)}
UNSEEN = Interval(0.7, 0.6, 0.8)
FIRST = ComparedRecipe(
    "A & B", Interval(0.9, 0.85, 0.95), (0.88, 0.92), UNSEEN, NOISY, None, 0.012, 0.4, 12.34, 22_000_000
)
SECOND = ComparedRecipe(
    "plain", Interval(0.8, 0.7, 0.9), (0.8, 0.8), None, NOISY, Interval(0.1, -0.05, 0.2), 0.1, None, 3.0, 5
)


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


def page() -> Read:
    lost = [ComparedDocument("scans/<1>.png", 4, 4.0, 2.5, PICTURE)]
    pairs = [ComparedDocuments("A & B", "plain", lost, [])]
    return Read(
        comparison_page(
            "2 recipes", "verdict", recipes=[FIRST, SECOND], documents=pairs, chart=PICTURE, notes=["a < b"]
        )
    )


def test_every_figure_is_in_its_column() -> None:
    texts = page().texts
    assert "F1 at 5 % wrong characters" in texts
    assert {"A & B", "0.900 (0.850 to 0.950)", "0.012", "40 %", "12.3", "22,000,000"} <= set(texts)
    assert {"plain", "+0.100 (-0.050 to +0.200)", "0.800 (0.700 to 0.850)", "0.600 (0.500 to 0.700)"} <= set(texts)
    assert {"verdict", "a < b"} <= set(texts)


def test_documents_are_listed_with_their_names_as_text() -> None:
    texts = page().texts
    start = texts.index("<1>.png")
    assert texts[start : start + 4] == ["<1>.png", "4", "4.0", "2.5"]
    assert texts[texts.index("plain finds more of these documents") + 1] == "none"


def test_the_page_is_closed_and_fetches_nothing() -> None:
    read = page()
    assert read.open == []
    assert len(read.addresses) == 2
    for address in read.addresses:
        kind, _, data = address.partition(",")
        assert kind == "data:image/png;base64"
        assert Image.open(io.BytesIO(base64.b64decode(data))).size == (4, 3)
