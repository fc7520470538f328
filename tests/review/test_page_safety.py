"""Hostile documents, accessibility and long documents, in a real browser."""

from dataclasses import replace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from layoutray.review.documents import AnsweredDocument
from tests.browser import opened
from tests.review.conftest import Served
from tests.review.documents import answered
from tests.review.on_page import row, show

pytestmark = pytest.mark.browser

SCRIPT = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"
OVERRIDE = "\u202e21.99\u202c"


def hostile() -> AnsweredDocument:
    """A receipt whose words, names and file name try to be more than text."""
    made = answered("hostile")
    page = made.pages[0]
    words = tuple(replace(word, text=SCRIPT) for word in page.words)
    texts = {"total": OVERRIDE, "date": SCRIPT}
    said = tuple(
        replace(one, text=texts.get(one.name, one.text), name=SCRIPT if one.name == "number" else one.name)
        for one in made.said
    )
    return replace(made, source=f"{SCRIPT}.png", pages=(replace(page, words=words),), said=said)


def test_words_are_shown_and_do_nothing(page: Page, served: Served) -> None:
    show(page, served.store.add(hostile()))
    expect(row(page, "date").locator(".text")).to_have_text(SCRIPT)
    expect(row(page, "total").locator(".text")).to_have_text("⟨U+202E⟩21.99⟨U+202C⟩")
    row(page, "date").locator(".main").click()
    page.keyboard.press("w")
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    page.keyboard.press("Enter")
    page.goto("/#/")
    expect(page.locator("table.documents").get_by_text("window.harmed").first).to_be_visible()
    assert page.evaluate("window.harmed") is None
    assert page.locator("main script, main img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(browser: Browser, served: Served, document: int, scheme: Any) -> None:
    with opened(browser, served.url, color_scheme=scheme) as page:
        show(page, document)
        page.locator("li.value.current").wait_for()
        violations = serious(page)
        page.goto("/#/?state=")
        page.locator("table.documents").wait_for()
        violations += serious(page)
    assert violations == []


def serious(page: Page) -> list[tuple[str, str]]:
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


def test_twenty_pages_do_not_wait_for_each_other(page: Page, served: Served) -> None:
    pictures: list[str] = []
    page.on("request", lambda request: pictures.append(request.url) if "/picture" in request.url else None)
    show(page, served.store.add(answered("long", pages=20)))
    expect(page.locator("svg.page")).to_have_count(20)
    assert 1 <= len(pictures) <= 4
    page.locator("svg.page").last.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('svg.page:last-of-type image').hasAttribute('href')")
    assert len(pictures) < 12
    assert all("width=" in picture for picture in pictures)
