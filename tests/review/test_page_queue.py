"""The queue in a real browser: drop, order, filters, progress, finished documents."""

import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, expect

from layoutray.readers import load
from layoutray.review.app import add_review_page
from layoutray.review.sessions import NoAuthenticator, Sessions
from layoutray.review.store import ReviewStore
from tests.browser import listening, opened
from tests.review.conftest import Served
from tests.review.documents import answered
from tests.review.on_page import show

pytestmark = pytest.mark.browser


def test_a_dropped_scan_is_answered(page: Page, served: Served, picture: Path) -> None:
    page.goto("/")
    page.get_by_label("Drop scans or PDFs here").set_input_files(picture)
    expect(page).to_have_url(re.compile(r"#/document/\d+$"))
    expect(page.get_by_role("heading", name="drop.png")).to_be_visible()
    expect(page.locator("polygon.value").first).to_be_visible()
    assert page.get_by_role("button", name="Confirm", exact=False).count() > 0


def test_documents_are_reviewed_by_doubt_and_counted(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    documents = [answered(f"queued-{number}") for number in range(3)]
    numbers = [store.add(one) for one in documents]
    entries = {number: review.entry for number in numbers if (review := store.review(number))}
    order = sorted(numbers, key=lambda number: -entries[number].doubt)
    app = FastAPI()
    add_review_page(app, store, Sessions(store.database, NoAuthenticator(), "anna"))
    with listening(app) as url, opened(browser, url) as page:
        page.goto("/")
        links = page.locator("table.documents a")
        expect(links).to_have_count(3)
        shown = [link.get_attribute("href") for link in links.all()]
        assert shown == [f"#/document/{number}" for number in order]
        show(page, order[0])
        page.get_by_role("button", name="Finish, next document").click()
        expect(page).to_have_url(re.compile(f"#/document/{order[1]}$"))
        expect(page.get_by_role("heading", name=entries[order[1]].source)).to_be_visible()
        page.keyboard.press("q")
        expect(page.get_by_text("1 of 3 finished")).to_be_visible()
        page.get_by_label("State").select_option("finished")
        expect(links).to_have_count(1)
        page.get_by_label("Field").select_option("item.discount")
        expect(page).to_have_url(re.compile("field=item.discount"))
    store.close()


def test_finished_documents_are_downloaded_and_read(page: Page, served: Served, document: int, tmp_path: Path) -> None:
    show(page, document)
    page.keyboard.press("Control+Enter")
    expect(page).not_to_have_url(re.compile(f"#/document/{document}$"))
    page.goto("/#/?state=done")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the finished documents").click()
    download.value.save_as(tmp_path / download.value.suggested_filename)
    reader = load("reviewed")
    truths = {item.source: reader.read(item) for item in reader.discover(str(tmp_path))}
    review = served.store.review(document)
    assert review
    (page_of,) = truths[review.entry.source].pages
    tagged = {number for number, word in enumerate(page_of.words) if word.tag != "O"}
    assert tagged == {word for value in review.values for word in value.words}
