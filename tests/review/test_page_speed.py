"""How fast the page is. Bounds hold on a busy machine; `--log-cli-level INFO` shows the times."""

import io
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from playwright.sync_api import Browser, CDPSession, Page, expect

from layoutray.document import Box, Word
from layoutray.review.app import add_review_page
from layoutray.review.documents import AnsweredDocument
from layoutray.review.pictures import PagePictures
from layoutray.review.sessions import Authenticator, Sessions, Visitor
from layoutray.review.store import ReviewStore
from layoutray.review.values import Prediction
from tests.browser import listening, opened
from tests.review.conftest import Served
from tests.review.documents import answered, drawn
from tests.review.on_page import drop, show

pytestmark = pytest.mark.browser

LOG = logging.getLogger(__name__)
PAGES, WORDS, VALUES = 20, 1500, 60
PATIENCE = 20_000
"""Milliseconds. On a machine with nothing else to do, pages take less than one second."""
_ARRIVED = """page => performance.getEntriesByType("resource").find(
    (one) => one.name.includes(`/pages/${page}/picture`))?.responseEnd"""
_ANSWERED = """() => performance.getEntriesByType("resource").findLast(
    (one) => one.name.endsWith("/review/documents")).responseEnd"""
_NOTE_FRAMES = """() => {
    const times = (window.times = [performance.now()]);
    const note = (now) => { times.push(now); requestAnimationFrame(note); };
    requestAnimationFrame(note);
}"""


def long_document() -> AnsweredDocument:
    """A PDF of 20 scanned pages."""
    made = answered("long", pages=PAGES)
    pictures = [drawn(f"long-{number}")[0].convert("RGB").resize((1240, 1754)) for number in range(PAGES)]
    stream = io.BytesIO()
    pictures[0].save(stream, "PDF", save_all=True, append_images=pictures[1:], resolution=150)
    pages = tuple(replace(page, width=1240, height=1754) for page in made.pages)
    return replace(made, content=stream.getvalue(), pages=pages)


@pytest.fixture
def tab(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page whose model answers each upload with the long document."""
    store = ReviewStore.open(str(tmp_path / "review.db"))
    made = long_document()

    async def answer(request: Request, _: Visitor) -> AnsweredDocument:
        async with request.form() as form:
            assert form["file"]
        return made

    app = FastAPI()
    add_review_page(app, store, Sessions(store.database, Authenticator(), "anna"), answer)
    (tmp_path / "long.pdf").write_bytes(made.content)
    with listening(app) as url, opened(browser, url, viewport={"width": 1280, "height": 800}) as page:
        yield page
    store.close()


def arrival(tab: Page, page: int) -> float:
    """When the picture of a page has arrived, in milliseconds of the tab's clock."""
    return tab.wait_for_function(_ARRIVED, arg=page).json_value()


def test_pages_are_shown_without_waiting_for_others(tab: Page, tmp_path: Path) -> None:
    asked: list[int] = []
    tab.on("request", lambda one: asked.append(int(one.url.split("/")[-2])) if "/picture?" in one.url else None)
    tab.goto("/")
    drop(tab, tab.locator(".drop"), tmp_path / "long.pdf")
    first = arrival(tab, 1) - tab.evaluate(_ANSWERED)
    expect(tab.locator("svg.page")).to_have_count(PAGES)
    assert set(asked) <= {1, 2, 3}, "only pages near the view are asked for"
    before = tab.evaluate("() => performance.now()")
    tab.locator("svg.page").last.scroll_into_view_if_needed()
    last = arrival(tab, PAGES) - before
    assert len(set(asked)) < PAGES / 2, "pages that are jumped over are not asked for"
    LOG.info("first page %.0f ms after its answer; page %d %.0f ms after a jump to it", first, PAGES, last)
    assert max(first, last) < PATIENCE


def test_the_picture_of_a_page_costs_little_processor_time(tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    number = store.add(long_document())
    pictures, seconds = PagePictures(store), []
    for page in range(1, 6):
        before = time.process_time()
        pictures.picture(number, page, 960)
        seconds.append(time.process_time() - before)
    store.close()
    LOG.info("picture of a page of a PDF: %.0f to %.0f ms of processor time", *(1000 * f(seconds) for f in (min, max)))
    assert min(seconds) < 0.5


def test_a_long_document_scrolls_at_once(tab: Page, tmp_path: Path) -> None:
    tab.goto("/")
    drop(tab, tab.locator(".drop"), tmp_path / "long.pdf")
    arrival(tab, 1)
    frames = Frames(tab)
    tab.locator(".pages").hover()
    for _ in range(60):
        tab.mouse.wheel(0, 300)
    frames.check("20 pages, scrolled from the first to the last")


def dense() -> AnsweredDocument:
    """A page of 1,500 words in 30 columns, with 60 values of three words."""
    made = answered("dense")
    size = made.pages[0].width, made.pages[0].height
    boxes = [Box(x / 30 + 0.003, y / 50 + 0.004, x / 30 + 0.03, y / 50 + 0.016) for y in range(50) for x in range(30)]
    words = tuple(Word(text=f"word-{number}", box=box, confidence=0.9) for number, box in enumerate(boxes))
    said = []
    for number in range(0, WORDS, WORDS // VALUES):
        chosen = tuple(range(number, number + 3))
        polygon = Box.around(boxes[word] for word in chosen).polygon(*size)
        text = " ".join(words[word].text for word in chosen)
        said.append(
            Prediction(
                name=f"field-{number}",
                text=text,
                value=text,
                confidence=0.8,
                accepted=False,
                page=1,
                words=chosen,
                polygons=(tuple(polygon),),
            )
        )
    return replace(made, said=tuple(said), pages=(replace(made.pages[0], words=words),))


def test_a_page_of_many_words_stays_fluid(page: Page, served: Served) -> None:
    show(page, served.store.add(dense()))
    page.keyboard.press("b")
    expect(page.locator("polygon.value")).to_have_count(VALUES)
    place = page.locator(".pages").bounding_box()
    assert place
    frames = Frames(page)
    for step in range(120):
        page.mouse.move(place["x"] + 60 + step * 4, place["y"] + 40 + step * 3)
    frames.check("1,500 words, pointer over them")
    page.keyboard.press("+")
    page.keyboard.press("+")
    frames = Frames(page)
    page.mouse.move(place["x"] + 500, place["y"] + 400)
    page.mouse.down()
    for step in range(120):
        page.mouse.move(place["x"] + 500 - step * 2, place["y"] + 400 - step * 3)
    page.mouse.up()
    frames.check("1,500 words, dragged")


@dataclass
class Frames:
    """Frames of a tab from now on, and the processor time of its main thread."""

    page: Page

    def __post_init__(self) -> None:
        self._events: CDPSession = self.page.context.new_cdp_session(self.page)
        self._events.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.evaluate(_NOTE_FRAMES)
        self._before = self._seconds()

    def check(self, what: str) -> None:
        """Show the times, and fail if the main thread is so slow that frames are lost on an idle machine too."""
        busy = 1000 * (self._seconds() - self._before)
        times = self.page.evaluate("() => window.times")
        gaps = sorted(later - earlier for earlier, later in pairwise(times))
        median, slow = gaps[len(gaps) // 2], gaps[int(0.95 * len(gaps))]
        mean = busy / len(gaps)
        shown = "%s: %d frames, median %.1f ms, 95th percentile %.1f ms; main thread %.1f ms per frame"
        LOG.info(shown, what, len(gaps), median, slow, mean)
        self._events.detach()
        assert mean < 1000 / 60

    def _seconds(self) -> float:
        metrics = self._events.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")
