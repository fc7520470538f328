"""A document in which another model has stated other values, in a real browser: both are shown, one is chosen."""

from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from layoutray.review.values import Stated
from tests.review.conftest import Served
from tests.review.documents import answered
from tests.review.on_page import row, saved, show

pytestmark = pytest.mark.browser

OTHER = (3, 4)
"""Words of another value than that of the answer."""


@pytest.fixture
def differing(served: Served, request: pytest.FixtureRequest) -> int:
    """A receipt of which another model has stated another total, no date, and one value more."""
    made = answered(request.node.name)
    words = made.pages[0].words
    elsewhere = Stated(by="big-model", text=" ".join(words[word].text for word in OTHER), page=1, words=OTHER)
    stated = {"total": elsewhere, "date": Stated(by="big-model", text="", page=None, words=())}
    said = [
        replace(one, accepted=one.name not in stated, stated=stated.get(one.name)) for one in made.said if not one.row
    ]
    more = replace(said[0], name="number", text="", value="", confidence=0.0, accepted=False, page=None, words=())
    invented = Stated(by="big-model", text="INV-0099", page=None, words=())
    said = [one for one in said if one.name != "number"]
    return served.store.add(replace(made, said=(*said, replace(more, polygons=(), stated=invented))))


@pytest.mark.parametrize("width", [1280, 390])
def test_both_values_are_shown_and_fit(page: Page, differing: int, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    show(page, differing)
    expect(row(page, "total").locator(".stated")).to_contain_text("big-model: ")
    expect(row(page, "date").locator(".stated")).to_have_text("big-model: no such value")
    expect(row(page, "number").locator(".stated")).to_have_text("big-model: INV-0099")
    expect(page.locator(".stated")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    row(page, "total").locator(".main").click()
    expect(row(page, "total").get_by_role("button", name="Take the value of big-model for total")).to_be_in_viewport()


def test_a_stated_value_is_taken_by_a_click_or_a_key(page: Page, served: Served, differing: int) -> None:
    show(page, differing)
    row(page, "total").locator(".main").click()
    row(page, "total").get_by_role("button", name="Take the value").click()
    row(page, "number").locator(".main").click()
    page.keyboard.press("t")
    row(page, "date").locator(".main").click()
    expect(row(page, "date").get_by_role("button", name="Take")).to_have_count(0)
    page.keyboard.press("t")
    saved(page)
    values = served.values(differing)
    assert (values["total"].words, values["total"].state) == (OTHER, "confirmed")
    assert (values["number"].text, values["number"].words) == ("INV-0099", ())
    assert values["date"].state == "open", "there is nothing to take"
    page.keyboard.press("Delete")
    saved(page)
    assert served.values(differing)["date"].state == "removed"
