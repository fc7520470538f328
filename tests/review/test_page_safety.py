"""Hostile documents in a real browser."""

from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from layoutray.review.documents import AnsweredDocument
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
