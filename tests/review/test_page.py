"""The document view in a real browser: see and correct by mouse, by keyboard alone, undo, narrow screens."""

import re

import pytest
from playwright.sync_api import Page, expect

from layoutray.review.values import Value
from tests.review.conftest import Served
from tests.review.on_page import row, saved, show, type_over

pytestmark = pytest.mark.browser


def point(page: Page, number: int, words: list[int], served: Served) -> tuple[float, float, float, float]:
    """Where words are on the screen: left, top, right, bottom."""
    content = served.store.page(number, 1)
    assert content
    place = page.locator("svg.page").first.bounding_box()
    assert place
    boxes = [content.words[word].box for word in words]
    across, down = place["width"], place["height"]
    return (
        place["x"] + across * min(box.x0 for box in boxes),
        place["y"] + down * min(box.y0 for box in boxes),
        place["x"] + across * max(box.x1 for box in boxes),
        place["y"] + down * max(box.y1 for box in boxes),
    )


def words_of(served: Served, number: int, name: str) -> list[int]:
    return list(served.values(number)[name].words)


def test_values_are_drawn_where_the_answer_says_and_linked_both_ways(page: Page, served: Served, document: int) -> None:
    show(page, document)
    review = served.store.review(document)
    assert review
    drawn = page.locator("polygon.value").evaluate_all(
        "all => all.map(one => [one.dataset.id, one.getAttribute('points')])"
    )
    said = {
        (value, " ".join(f"{side:g}" for side in polygon))
        for value, one in review.said.items()
        for polygon in one.polygons
    }
    assert {(value, points) for value, points in drawn} == said
    total = served.values(document)["total"].id
    row(page, "total").hover()
    expect(page.locator("polygon.marked")).to_have_attribute("data-id", total)
    page.locator("polygon.value").first.hover()
    expect(page.locator("li.marked")).to_have_attribute(
        "data-id", page.locator("polygon.value").first.get_attribute("data-id") or ""
    )


def test_a_drag_chooses_the_words_of_a_value(page: Page, served: Served, document: int) -> None:
    show(page, document)
    target = words_of(served, document, "company")
    page.get_by_role("button", name="Whole width").click()
    row(page, "date").locator(".main").click()
    row(page, "date").get_by_role("button", name="Choose the words").click()
    left, top, right, bottom = point(page, document, target, served)
    page.mouse.move(left - 4, top - 4)
    page.mouse.down()
    page.mouse.move(right + 4, bottom + 4, steps=4)
    page.mouse.up()
    page.get_by_role("button", name="Accept", exact=True).click()
    saved(page)
    value, company = served.values(document)["date"], served.values(document)["company"]
    assert (value.words, value.text, value.state) == (company.words, company.text, "confirmed")


def test_typed_text_has_the_words_that_state_it_and_misread_text_keeps_its_words(
    page: Page, served: Served, document: int
) -> None:
    show(page, document)
    page.wait_for_load_state("networkidle")  # the words of the page are there
    company, before = (served.values(document)[name] for name in ("company", "date"))
    type_over(page, "total", company.text.lower())
    type_over(page, "date", "31.12.1999")
    saved(page)
    typed, date = (served.values(document)[name] for name in ("total", "date"))
    assert (typed.words, typed.text) == (company.words, company.text.lower())
    assert (date.words, date.text) == (before.words, "31.12.1999")


def test_clicks_and_a_lasso_choose_words(page: Page, served: Served, document: int) -> None:
    show(page, document)
    date, company = (words_of(served, document, name) for name in ("date", "company"))
    row(page, "total").locator(".main").click()
    page.keyboard.press("w")
    page.keyboard.press("Delete")
    left, top, right, bottom = point(page, document, date[:1], served)
    page.mouse.click((left + right) / 2, (top + bottom) / 2)
    expect(page.locator("polygon.chosen")).to_have_count(1)
    page.get_by_role("button", name="Lasso").click()
    left, top, right, bottom = point(page, document, company, served)
    page.mouse.move(left - 5, top - 5)
    page.mouse.down()
    for x, y in ((right + 5, top - 5), (right + 5, bottom + 5), (left - 5, bottom + 5)):
        page.mouse.move(x, y, steps=3)
    page.mouse.up()
    page.keyboard.press("Enter")
    saved(page)
    assert served.values(document)["total"].words == tuple(company)


def test_typing_over_keeps_both_texts(page: Page, served: Served, document: int) -> None:
    show(page, document)
    before = served.values(document)["total"]
    type_over(page, "total", "99.95")
    saved(page)
    expect(row(page, "total").locator(".was")).to_contain_text(before.text)
    after = served.values(document)["total"]
    assert (after.text, after.words, after.state) == ("99.95", before.words, "confirmed")
    (correction,) = served.store.corrections(document)
    assert (correction.reviewer, correction.model_version, correction.action) == ("anna", "1", "changed")
    assert (correction.before, correction.after) == (before, after)


def test_values_and_rows_are_added_and_removed(page: Page, served: Served, document: int) -> None:
    show(page, document)
    page.get_by_label("Name of a value to add", exact=True).fill("currency")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    page.keyboard.type("EUR")
    page.keyboard.press("Enter")
    rows = page.locator("section.record")
    count = rows.count()
    page.get_by_role("button", name="Add a row").click()
    expect(rows).to_have_count(count + 1)
    page.get_by_role("button", name="Remove row 1", exact=True).click()
    expect(page.locator("section.record.removed")).to_have_count(1)
    row(page, "total").locator(".main").click()
    page.keyboard.press("Delete")
    saved(page)
    values = served.values(document)
    assert (values["currency"].text, values["currency"].words, values["total"].state) == ("EUR", (), "removed")
    assert {"added", "removed"} <= {one.action for one in served.store.corrections(document)}


def test_finishing_asks_about_values_that_nobody_looked_at(page: Page, served: Served, document: int) -> None:
    before = served.store.review(document)
    assert before
    confirmed, *left = [value.id for value in before.values if before.said[value.id].needs_look]
    show(page, document)
    page.locator(f"li.value[data-id={confirmed}] .main").click()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Finish, next document").click()
    asked = page.get_by_role("dialog")
    expect(asked.get_by_role("heading")).to_have_text(f"{len(left)} values still need a look")
    expect(asked.get_by_role("listitem")).to_have_count(len(before.values) - 1)
    expect(asked).to_contain_text(f"1 values are learnt ({before.said[confirmed].name}); nobody")
    expect(asked.get_by_text("are learnt")).to_be_in_viewport()
    expect(asked.get_by_role("button", name="Look at them")).to_be_focused()
    page.keyboard.press("Escape")
    saved(page)
    review = served.store.review(document)
    assert review
    assert (review.entry.state, review.entry.looks) == ("open", len(left))
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Remove all and finish").click()
    expect(page).to_have_url(re.compile(f"#/(?!document/{document}$)"))
    after = served.store.review(document)
    assert after
    assert (after.entry.state, after.entry.looks) == ("done", 0)
    states = {value.id: value.state for value in after.values}
    assert states == {value.id: "open" for value in after.values} | {confirmed: "confirmed"} | dict.fromkeys(
        left, "removed"
    )


def test_the_keyboard_alone_reviews_a_document(page: Page, served: Served, document: int) -> None:
    show(page, document)
    review = served.store.review(document)
    assert review
    words = words_of(served, document, "company")
    for _ in range(review.entry.looks):
        page.keyboard.press("Enter")
    expect(page.locator(".left")).to_contain_text("Nothing left to look at")
    row(page, "company").locator(".main").focus()
    page.keyboard.press("w")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("dialog")).to_contain_text("accepted by the model: learnt only if you confirm it")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"#/(?!document/{document}$)"))
    after = served.store.review(document)
    assert after
    assert (after.entry.state, after.entry.looks) == ("done", 0)
    assert served.values(document)["company"].words == (words[0] + 1, words[0] + 2)


def test_undo_and_redo(page: Page, served: Served, document: int) -> None:
    show(page, document)
    before = served.values(document)["company"]
    row(page, "company").locator(".main").click()
    page.keyboard.press("Delete")
    saved(page)
    assert served.values(document)["company"].state == "removed"
    page.keyboard.press("Control+z")
    expect(row(page, "company")).not_to_have_class(re.compile("removed"))
    saved(page)
    assert served.values(document)["company"] == before
    page.get_by_role("button", name="Redo").click()
    saved(page)
    assert served.values(document)["company"].state == "removed"


def test_a_narrow_screen_shows_page_and_values(page: Page, served: Served, document: int) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    show(page, document)
    for selector in ("svg.page >> nth=0", "li.value >> nth=0", ".finish"):
        expect(page.locator(selector)).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.goto("/#/")
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_turned_page_is_chosen_from_as_it_is_seen(page: Page, served: Served, document: int) -> None:
    show(page, document)
    total: Value = served.values(document)["total"]
    row(page, "date").locator(".main").click()
    page.keyboard.press("r")
    page.keyboard.press("w")
    page.keyboard.press("Delete")
    box = page.locator(f'polygon[data-id="{total.id}"]').first.bounding_box()
    assert box
    assert box["height"] > box["width"]
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.press("Enter")
    saved(page)
    assert served.values(document)["date"].words == total.words
