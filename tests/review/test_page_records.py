"""Records on the page: of a name that the model has not found, of a new name, rows, undo, by mouse and by keys."""

from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from layoutray.review.values import Value
from tests.review.conftest import Served
from tests.review.documents import OF_ITEMS, answered
from tests.review.on_page import saved, show

pytestmark = pytest.mark.browser


@pytest.fixture
def without_records(served: Served, request: pytest.FixtureRequest) -> int:
    """A document on whose page the model has found no record; it has found records of other documents."""
    served.store.add(answered("with-records"))
    made = answered(request.node.name, pages=2)
    return served.store.add(replace(made, said=tuple(one for one in made.said if not one.row)))


def rows_of(served: Served, number: int) -> dict[str, list[Value]]:
    """The stored values of records that are not removed, by row."""
    review = served.store.review(number)
    assert review
    rows: dict[str, list[Value]] = {}
    for value in review.values:
        if value.row and value.state != "removed":
            rows.setdefault(value.row, []).append(value)
    return rows


def test_a_record_that_the_model_has_not_found_is_added_by_keys(
    page: Page, served: Served, without_records: int
) -> None:
    show(page, without_records)
    page.keyboard.press("PageDown")
    page.keyboard.press("n")
    expect(page.locator("#names-of-records option")).to_have_attribute("value", "items")
    page.keyboard.type("items")
    page.keyboard.press("Enter")
    expect(page.locator("section.record")).to_have_count(1)
    page.keyboard.press("w")
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    page.keyboard.press("Enter")
    saved(page)
    ((row, values),) = rows_of(served, without_records).items()
    assert row == "items/2/1", "the page in view"
    assert {value.name for value in values} <= set(OF_ITEMS)
    assert len(values) == len({value.name for value in values}) >= 4
    assert (values[0].page, values[0].words, bool(values[0].text)) == (2, (0,), True)


def test_a_record_of_a_new_name_asks_for_its_values(page: Page, served: Served, without_records: int) -> None:
    show(page, without_records)
    page.get_by_label("Name of a record to add").fill("constructor")
    page.get_by_role("button", name="Add a record").click()
    dialog = page.get_by_role("dialog", name="New record")
    dialog.get_by_role("textbox").fill("rate, , amount")
    dialog.get_by_role("button", name="Add").click()
    expect(page.locator("section.record li.value")).to_have_count(2)
    page.get_by_role("button", name="Add a row").click()
    expect(page.locator("section.record")).to_have_count(2)
    saved(page)
    rows = {row: [value.name for value in values] for row, values in rows_of(served, without_records).items()}
    assert rows == {f"constructor/1/{number}": ["rate", "amount"] for number in (1, 2)}


def test_rows_are_removed_restored_and_undone(page: Page, served: Served, document: int) -> None:
    show(page, document)
    before = rows_of(served, document)
    page.get_by_role("button", name="Remove row 1", exact=True).click()
    saved(page)
    assert rows_of(served, document).keys() == before.keys() - {"items/1/1"}
    page.get_by_role("button", name="Undo").click()
    saved(page)
    assert rows_of(served, document) == before
    page.get_by_role("button", name="Add a row").click()
    expect(page.locator("section.record")).to_have_count(len(before) + 1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("section.record")).to_have_count(len(before))
    page.get_by_role("button", name="Redo").click()
    expect(page.locator("section.record")).to_have_count(len(before) + 1)
    saved(page)
    assert len(rows_of(served, document)) == len(before) + 1
