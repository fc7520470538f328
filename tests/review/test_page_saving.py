"""Autosave in a real browser: closed tabs, lost connections, and two people at one document."""

import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, expect

from layoutray.errors import ApiError
from layoutray.review.app import add_review_page
from layoutray.review.sessions import Authenticator, Sessions, Visitor
from layoutray.review.store import ReviewStore
from tests.browser import listening, opened
from tests.review.conftest import Served
from tests.review.documents import answered
from tests.review.on_page import row, saved, show, type_over

pytestmark = pytest.mark.browser

DRAFTS = "() => Object.entries(localStorage).filter(([key]) => key.startsWith('layoutray-draft')).join()"
AGED = """() => {
  for (const [name, draft] of Object.entries(localStorage))
    if (name.startsWith("layoutray-draft"))
      localStorage.setItem(name, JSON.stringify({ ...JSON.parse(draft), kept: Date.now() - 8 * 24 * 3600 * 1000 }));
}"""
NO_DRAFT = "() => !Object.keys(localStorage).some((key) => key.startsWith('layoutray-draft'))"


def test_a_closed_tab_loses_nothing(page: Page, served: Served, document: int) -> None:
    context = page.context
    show(page, document)
    context.set_offline(True)
    type_over(page, "total", "12.34")
    expect(page.locator("#status")).to_have_text(re.compile("Not saved, but kept in this browser"))
    page.close()
    context.set_offline(False)
    assert served.values(document)["total"].text != "12.34"
    again = context.new_page()
    show(again, document)
    expect(row(again, "total").locator(".text")).to_have_text("12.34")
    saved(again)
    assert served.values(document)["total"].text == "12.34"


def test_different_values_of_two_people_are_both_kept(
    browser: Browser, page: Page, served: Served, document: int
) -> None:
    show(page, document)
    with opened(browser, served.url) as other:
        show(other, document)
        type_over(other, "date", "2026-01-02")
        saved(other)
    type_over(page, "total", "12.34")
    expect(page.locator("#status")).to_have_text(re.compile("Merged|Saved"))
    expect(row(page, "date").locator(".text")).to_have_text("2026-01-02")
    page.wait_for_function(NO_DRAFT)
    values = served.values(document)
    assert (values["date"].text, values["total"].text) == ("2026-01-02", "12.34")


@pytest.mark.parametrize(("choice", "kept"), [("you:", "mine"), ("bert:", "theirs")])
def test_a_conflict_is_shown_and_one_is_chosen(
    browser: Browser, page: Page, served: Served, document: int, choice: str, kept: str
) -> None:
    show(page, document)
    with opened(browser, served.url) as other:
        other.goto("/")
        other.locator("#reviewer").wait_for()
        other.evaluate("localStorage.setItem('layoutray-reviewer', 'bert')")
        other.context.clear_cookies()
        other.reload()
        show(other, document)
        type_over(other, "total", "theirs")
        saved(other)
    type_over(page, "total", "mine")
    dialog = page.get_by_role("dialog", name="Conflict")
    expect(dialog).to_contain_text("mine")
    expect(dialog).to_contain_text("theirs")
    dialog.get_by_label(choice).check()
    dialog.get_by_role("button", name="Save this choice").click()
    page.wait_for_function(NO_DRAFT)
    assert served.values(document)["total"].text == kept
    expect(row(page, "total").locator(".text")).to_have_text(kept)
    log = [(one.reviewer, one.after and one.after.text) for one in served.store.corrections(document)]
    assert log == [("bert", "theirs"), ("anna", "mine")][: 2 if kept == "mine" else 1]
    page.keyboard.press("h")
    expect(page.get_by_role("dialog", name="History")).to_contain_text("theirs")


class TwoKeys(Authenticator):
    """Keys `one` and `two`, which see all documents."""

    needs_key = True

    async def authenticate(self, key: str) -> Visitor:
        if key not in ("one", "two"):
            raise ApiError(401, "invalid_key", "there is no such key")
        return Visitor(sees_all=True, key=key)


def sign_in(page: Page, key: str) -> None:
    dialog = page.get_by_role("dialog", name="Sign in")
    dialog.get_by_label("Key of the endpoint").fill(key)
    dialog.get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("end", ["sign out", "another key", "the same key", "a week later"])
def test_no_draft_is_left_to_somebody_else(browser: Browser, tmp_path: Path, end: str) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    app = FastAPI()
    add_review_page(app, store, Sessions(store.database, TwoKeys(), ""))
    number = store.add(answered("receipt"), owner="one")
    with listening(app) as url, opened(browser, url) as page:
        page.goto("/")
        sign_in(page, "one")
        show(page, number)
        page.route(
            "**/review/documents/*", lambda route: route.abort() if route.request.method == "PUT" else route.continue_()
        )
        type_over(page, "total", "12.34 of a secret")
        expect(page.locator("#status")).to_have_text(re.compile("Not saved, but kept in this browser"))
        assert "12.34 of a secret" in page.evaluate(DRAFTS)
        if end == "sign out":
            page.locator("#reviewer").click()
            page.get_by_role("button", name="Sign out").click()
            page.get_by_role("dialog", name="Sign in").wait_for()
        else:
            page.context.clear_cookies()
            if end == "a week later":
                page.evaluate(AGED)
            page.goto("/")
            sign_in(page, "two" if end == "another key" else "one")
            page.get_by_role("dialog", name="Sign in").wait_for(state="detached")
            page.locator("#reviewer:visible").wait_for()
        assert ("12.34 of a secret" in page.evaluate(DRAFTS)) == (end == "the same key")
    store.close()
