"""The mode yes or no in a real browser: keys, the part of the page, corrections, and what becomes truth."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from layoutray.review import truth
from layoutray.review.store import ReviewStore
from layoutray.review.values import Value
from tests.browser import opened
from tests.review.documents import answered
from tests.review.on_page import show
from tests.review.test_alternatives import SAID
from tests.review.test_page_queue import reviewing

pytestmark = pytest.mark.browser


def test_values_are_answered_one_by_one_and_a_no_opens_the_correction(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    numbers = [store.add(answered(f"asked-{number}")) for number in range(2)]
    looks = sum(review.entry.looks for number in numbers if (review := store.review(number)))
    with reviewing(store) as url, opened(browser, url, viewport={"width": 1000, "height": 700}) as page:
        page.goto("/")
        page.get_by_role("link", name="Yes or no").click()
        title, note = page.locator(".question h1"), page.locator(".question .note").first
        asked: list[str] = []
        for number, key in enumerate(("y", " ", "n")):
            expect(note).to_contain_text(f"{looks - (number > 0)} questions left")
            expect(page.locator(".question svg polygon.marked")).to_have_count(1)
            expect(page.locator(".question svg image")).to_have_attribute("href", re.compile("picture.width="))
            box, shown = page.locator("polygon.marked").bounding_box(), page.locator(".question svg").bounding_box()
            assert box
            assert shown
            assert shown["x"] <= box["x"]
            assert box["x"] + box["width"] <= shown["x"] + shown["width"]
            assert shown["y"] <= box["y"]
            assert box["y"] + box["height"] <= shown["y"] + shown["height"]
            asked.append(title.inner_text())
            page.keyboard.press(key)
            if key != "n":
                expect(title).not_to_have_text(asked[-1])
        expect(page).to_have_url(re.compile(r"#/document/\d+\?correct=said-"))
        current = page.locator("li.value.current")
        expect(current.locator(".state")).to_contain_text("wrong")
        page.keyboard.press("e")
        page.keyboard.type("right")
        page.keyboard.press("Enter")
        expect(current.locator(".text")).to_have_text("right")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("#/questions$"))
        expect(title).to_be_visible()
        page.set_viewport_size({"width": 1000, "height": 250})
        page.keyboard.press("n")
        expect(page.locator("li.value.current .state")).to_contain_text("wrong")
        expect(page.locator("polygon.value.marked")).to_be_in_viewport()
        page.keyboard.press("Enter")
        expect(title).to_be_visible()
    values = [(one, review.said) for number in numbers if (review := store.review(number)) for one in review.values]
    states = [value.state for value, _ in values]
    assert (states.count("confirmed"), states.count("rejected")) == (2, 1), "an uncorrected no stays one"
    assert [
        value.text for value, said in values if value.state == "confirmed" and value.text != said[value.id].text
    ] == ["right"]
    history = [one.action for number in numbers for one in store.corrections(number)]
    assert sorted(history) == ["changed", "confirmed", "rejected", "rejected"]
    store.close()


def test_a_digit_chooses_another_value_and_x_says_that_there_is_none(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    one = answered("chosen")
    place = one.said[0]
    said = [replace(value, alternatives=(), polygons=place.polygons) for value in SAID]
    alternatives = tuple(replace(alternative, polygons=place.polygons) for alternative in SAID[0].alternatives)
    said[0] = replace(said[0], alternatives=alternatives)
    number = store.add(replace(one, said=tuple(said)))
    with reviewing(store) as url, opened(browser, url) as page:
        show(page, number)
        expect(page.locator("li.value")).to_have_count(1)
        page.goto("/#/questions")
        title = page.locator(".question h1")
        expect(title).to_have_text("tax: 1.50?")
        expect(page.locator(".question .note").last).to_contain_text("Not answered by the model")
        page.keyboard.press("1")  # there is no alternative
        page.keyboard.press("x")
        expect(title).to_have_text("total: RM 7.50?")
        page.keyboard.press("u")
        expect(title).to_have_text("tax: 1.50?")
        page.keyboard.press("x")
        expect(title).to_have_text("total: RM 7.50?")
        expect(page.locator(".question .alternatives svg polygon.marked")).to_have_count(4)
        expect(page.locator(".question .alternatives .text")).to_have_text(["6.00", "5.00", "4.00", "3.00"])
        page.keyboard.press("2")
        expect(title).to_have_text("No question is left")
        expect(page.locator("#status")).to_have_text("Saved")
        page.goto(f"/#/document/{number}")
        expect(page.locator("li.value .state")).to_contain_text(["corrected", "removed"])
    review = store.review(number)
    assert review
    total, tax = review.values
    assert (total.text, total.words, total.page, total.state) == ("5.00", (5,), 1, "confirmed")
    assert (tax.text, tax.words, tax.page, tax.state) == ("", (), None, "removed")
    store.close()


def test_what_nobody_was_asked_is_not_confirmed_by_finishing(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    number = store.add(answered("asked-0"))
    review = store.review(number)
    assert review
    with reviewing(store) as url, opened(browser, url) as page:
        page.goto("/#/questions")
        for _ in range(review.entry.looks):
            expect(page.locator(".question .choices")).to_be_visible()
            before = page.locator("h1").inner_text()
            page.keyboard.press("y")
            expect(page.locator("h1")).not_to_have_text(before)
        expect(page.locator("h1")).to_have_text("No question is left")
        expect(page.locator("#status")).to_have_text("Saved")
        review = store.review(number)
        assert review
        assert (review.entry.state, review.entry.looks) == ("accepted", 0)
        show(page, number)
        page.keyboard.press("Control+Enter")
        page.get_by_role("button", name="Finish, and learn only the others").click()
        expect(page).not_to_have_url(re.compile("document"))
    review = store.review(number)
    assert review
    assert review.entry.state == "done"
    assert {one.state for one in review.values} == {"confirmed", "open"}
    store.close()


def test_the_last_answers_are_taken_back_one_by_one_also_a_corrected_no(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    numbers = [store.add(answered(f"undone-{number}")) for number in range(2)]
    with reviewing(store) as url, opened(browser, url) as page:
        page.goto("/#/questions")
        title, note = page.locator(".question h1"), page.locator(".question .note").first
        expect(page.locator(".question .choices")).to_be_visible()
        asked, counted = [title.inner_text()], [note.inner_text()]
        page.keyboard.press("y")
        expect(note).not_to_have_text(counted[0])
        asked.append(title.inner_text())
        counted.append(note.inner_text())
        page.keyboard.press("n")
        expect(page.locator("li.value.current .state")).to_contain_text("wrong")
        page.keyboard.press("e")
        page.keyboard.type("right")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        expect(note).not_to_have_text(counted[1])
        third = note.inner_text()
        for before, left in zip(reversed(asked), reversed(counted), strict=True):
            page.keyboard.press("u")
            expect(note).to_have_text(left)
            expect(title).to_have_text(before)
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
        expect(page.locator("#status")).to_have_text("Saved")
        assert {value.state for number in numbers for value in values(store, number)} == {"open"}
        assert all(value.text != "right" for number in numbers for value in values(store, number))
        assert not list(truth.reviewed(store, None)), "nothing is learnt"
        history = [one.action for number in numbers for one in store.corrections(number)]
        assert sorted(history) == ["changed", "changed", "confirmed", "rejected", "reopened"]
        for left in (*counted[1:], third):  # the same questions again, none is left out
            page.keyboard.press("y")
            expect(note).to_have_text(left)
    store.close()


def test_the_page_says_that_another_person_has_the_last_value(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    document = answered("asked-0")
    store.add(replace(document, said=(replace(document.said[0], accepted=False),)))
    with reviewing(store) as url, opened(browser, url) as first, opened(browser, url) as second:
        first.goto("/#/questions")
        expect(first.locator(".question .choices")).to_be_visible()
        second.goto("/#/questions")
        expect(second.locator("h1")).to_have_text("There is no question")
        expect(second.get_by_text("others were asked about the values that are left")).to_be_visible()
        first.keyboard.press("y")
        expect(first.locator("#status")).to_have_text("Saved")
        second.get_by_role("button", name="Try again").click()
        expect(second.locator("h1")).to_have_text("No question is left")
    store.close()


def values(store: ReviewStore, number: int) -> tuple[Value, ...]:
    review = store.review(number)
    assert review
    return review.values


def test_after_the_end_of_a_session_questions_go_on_with_another_and_no_answer_is_lost(
    browser: Browser, tmp_path: Path
) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    number = store.add(answered("asked-0"))
    requests: list[Route] = []

    def hold_the_second(route: Route) -> None:
        requests.append(route)
        if len(requests) != 2:
            route.continue_()

    with reviewing(store) as url, opened(browser, url) as page:
        page.route(re.compile("/review/question"), hold_the_second)
        page.goto("/#/questions")
        expect(page.locator(".question .choices")).to_be_visible()
        while len(requests) < 2:
            page.wait_for_timeout(20)
        with store.database.transaction() as database:
            database.exec_driver_sql("DELETE FROM sessions")
        requests[1].continue_()  # a question that was loaded ahead would be kept for the ended session
        while page.get_by_role("heading", name="No question is left").count() == 0:
            page.keyboard.press("y")
            page.wait_for_timeout(100)
        expect(page.locator("#status")).to_have_text("Saved")
    review = store.review(number)
    assert review
    assert review.entry.looks == 0
    confirmed = [one.name for one in store.corrections(number) if one.action == "confirmed"]
    assert len(confirmed) == len({one.id for one in review.values if one.state == "confirmed"})
    store.close()
