"""The queue in a real browser: drop, order, filters, progress, finished documents."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from playwright.sync_api import Browser, Page, Route, expect

from layoutray.readers import load
from layoutray.review.app import add_review_page
from layoutray.review.documents import AnsweredDocument
from layoutray.review.drift import FIRST, ReviewDrift
from layoutray.review.sessions import Authenticator, Sessions, Visitor
from layoutray.review.store import ReviewStore
from tests.browser import listening, opened
from tests.review.conftest import Served
from tests.review.documents import answered
from tests.review.on_page import drop, show, type_over
from tests.review.test_drift import OTHER, stream

pytestmark = pytest.mark.browser


@contextmanager
def reviewing(store: ReviewStore) -> Iterator[str]:
    """The address of a page about the documents of one test."""
    app = FastAPI()
    add_review_page(app, store, Sessions(store.database, Authenticator(), "anna"))
    with listening(app) as url:
        yield url


@pytest.mark.parametrize("way", ["dropped", "chosen"])
def test_a_scan_is_answered(page: Page, served: Served, picture: Path, way: str) -> None:
    page.goto("/")
    if way == "dropped":
        drop(page, page.locator(".drop"), picture)
    else:
        page.get_by_label("Drop scans or PDFs here").set_input_files(picture)
    expect(page).to_have_url(re.compile(r"#/document/\d+$"))
    expect(page.get_by_role("heading", name="drop.png")).to_be_visible()
    expect(page.locator("polygon.value").first).to_be_visible()
    assert page.get_by_role("button", name="Confirm", exact=False).count() > 0


def test_several_files_are_read_at_once_and_do_not_leave_another_view(browser: Browser, tmp_path: Path) -> None:
    reading: list[int] = []
    gone: list[bool] = []

    async def answer(request: Request, _: Visitor) -> AnsweredDocument:
        async with request.form() as form:
            name = form["file"].filename  # pyright: ignore[reportAttributeAccessIssue]
        reading.append(reading[-1] + 1 if reading else 1)
        await asyncio.sleep(0.3)
        while len(reading) > 10 and not gone:
            await asyncio.sleep(0.02)
        reading.append(reading[-1] - 1)
        return answered(name)

    files = [tmp_path / f"{number}.png" for number in range(5)]
    for file in files:
        file.touch()
    store = ReviewStore.open(str(tmp_path / "review.db"))
    app = FastAPI()
    add_review_page(app, store, Sessions(store.database, Authenticator(), "anna"), answer)
    with listening(app) as url, opened(browser, url) as page:
        page.goto("/")
        page.get_by_label("Drop scans or PDFs here").set_input_files(files)
        expect(page.locator("table.documents tbody tr")).to_have_count(5)
        page.get_by_label("Drop scans or PDFs here").set_input_files(files[0])
        page.get_by_role("link", name="Yes or no").click()
        expect(page.locator(".question")).to_be_visible()
        gone.append(True)
        while reading[-1] or len(reading) < 12:
            page.wait_for_timeout(20)
        expect(page).to_have_url(re.compile("#/questions$"))
    assert max(reading) == 3
    store.close()


def test_a_file_beside_the_area_does_not_replace_the_page(page: Page, served: Served, picture: Path) -> None:
    page.goto("/")
    drop(page, page.get_by_role("heading", name="Queue"), picture)
    expect(page.locator(".drop")).to_be_visible()
    assert page.url.startswith(served.url)


def test_documents_are_reviewed_by_doubt_and_counted(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    documents = [answered(f"queued-{number}") for number in range(3)]
    numbers = [store.add(one) for one in documents]
    entries = {number: review.entry for number in numbers if (review := store.review(number))}
    order = sorted(numbers, key=lambda number: -entries[number].doubt)
    with reviewing(store) as url, opened(browser, url) as page:
        page.goto("/")
        links = page.locator("table.documents a")
        expect(links).to_have_count(3)
        shown = [link.get_attribute("href") for link in links.all()]
        assert shown == [f"#/document/{number}" for number in order]
        show(page, order[0])
        page.get_by_role("button", name="Finish, next document").click()
        page.get_by_role("button", name="Confirm all and finish").click()
        expect(page).to_have_url(re.compile(f"#/document/{order[1]}$"))
        expect(page.get_by_role("heading", name=entries[order[1]].source)).to_be_visible()
        page.keyboard.press("q")
        expect(page.get_by_text("1 of 3 finished")).to_be_visible()
        page.get_by_label("State").select_option("finished")
        expect(links).to_have_count(1)
        page.get_by_label("Field").select_option("item.price")
        expect(page).to_have_url(re.compile("field=item.price"))
    store.close()


def test_the_queue_is_filtered_by_version_and_confidence(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    old, new = answered("old"), answered("new", model_version="2")
    sure = replace(old, said=tuple(replace(one, confidence=0.96, accepted=False) for one in old.said))
    unsure = replace(new, said=(replace(new.said[0], confidence=0.4, accepted=False), *new.said[1:]))
    store.add(sure)
    store.add(unsure)
    with reviewing(store) as url, opened(browser, url) as page:
        page.goto("/")
        links = page.locator("table.documents a")
        expect(links).to_have_count(2)
        page.get_by_label("Model version").select_option("1")
        expect(links).to_have_text(["old.png"])
        page.get_by_label("Model version").select_option("any")
        page.get_by_label("Confidence").select_option("below 50 %")
        expect(links).to_have_text(["new.png"])
        page.get_by_label("Field").select_option(next(one.name for one in new.said[1:] if one.confidence > 0.5))
        expect(page.get_by_text("No document is in this list.")).to_be_visible()
        page.reload()
        expect(page.get_by_label("Confidence")).to_have_value("0.5")
    store.close()


def test_a_sample_of_accepted_values_is_shown_and_measured(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"), sample=1.0)
    made = answered("sampled")
    said = tuple(replace(one, confidence=0.99, accepted=True) for one in made.said[:3])
    number = store.add(replace(made, said=said))
    with reviewing(store) as url, opened(browser, url) as page:
        page.goto("/")
        expect(page.get_by_text("Sample of the accepted values: 3 wait for a look.")).to_be_visible()
        page.get_by_text("Promises").click()
        every = "all fields: no answer is accepted yet (risk 0.1, 0 reviewed documents with accepted answers); 253 more"
        expect(page.get_by_text(every)).to_be_visible()
        show(page, number)
        expect(page.locator("li.value .meaning")).to_have_text(["sample of accepted"] * 3)
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        type_over(page, said[2].name, "not what the model has said")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text("Sample of the accepted values: 2 of 3 are right (95 % interval")).to_be_visible()
        page.get_by_label("State").select_option("finished")
        expect(page.locator("table.documents td.last")).to_have_text(re.compile("anna .*20"))
    store.close()


def test_finished_documents_are_downloaded_and_read(page: Page, served: Served, document: int, tmp_path: Path) -> None:
    show(page, document)
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Confirm all and finish").click()
    expect(page).not_to_have_url(re.compile(f"#/document/{document}$"))
    page.goto("/#/?state=done")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download what was reviewed").click()
    download.value.save_as(tmp_path / download.value.suggested_filename)
    reader = load("reviewed")
    truths = {item.source: reader.read(item) for item in reader.discover(str(tmp_path))}
    review = served.store.review(document)
    assert review
    (page_of,) = truths[review.entry.source].pages
    tagged = {number for number, word in enumerate(page_of.words) if word.tag != "O"}
    assert tagged == {word for value in review.values for word in value.words}


def test_an_answer_that_comes_late_does_not_replace_a_newer_list(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    store.add(answered("old"))
    store.add(answered("new", model_version="2"))
    late: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if late:
            route.continue_()
        else:
            late.append(route)

    with reviewing(store) as url, opened(browser, url) as page:
        page.goto("/")
        links = page.locator("table.documents a")
        expect(links).to_have_count(2)
        page.route(re.compile(r"/review/documents\?"), hold_the_first)
        page.get_by_label("Model version").select_option("1")
        page.wait_for_function("location.hash.includes('version=1')")
        page.get_by_label("Model version").select_option("2")
        page.wait_for_timeout(300)
        late[0].continue_()
        page.wait_for_load_state("networkidle")
        expect(links).to_have_text(["new.png"])
        page.wait_for_timeout(300)
        expect(links).to_have_text(["new.png"])
    store.close()


def test_changed_documents_come_first_with_their_pictures(browser: Browser, tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    scan = answered("scan", tmp_path)
    image = scan.pages[0].image
    changed = dict.fromkeys(range(FIRST + 20, FIRST + 50), OTHER)
    for one in stream(changed, FIRST + 50):
        store.add(replace(one, pages=tuple(replace(page, image=image) for page in one.pages)))
    owned = ReviewDrift(store, lambda: None)
    assert owned.found("").since
    assert owned.found("bob").documents == 0, "nobody sees documents of others"
    with reviewing(store) as url, opened(browser, url) as page:
        page.goto("/")
        group = page.get_by_label("Changed documents")
        expect(group.get_by_text("Documents have changed since about")).to_be_visible()
        expect(group.get_by_text(re.compile("unseen words: median 1, before 0"))).to_be_visible()
        cards = group.locator("a")
        names = {f"{number:04}.png" for number in changed}
        assert {card.locator("bdi").inner_text() for card in cards.all()} <= names
        shown = cards.count()
        expect(cards.first).to_contain_text("unseen words 1")
        assert group.locator("img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
        expect(page.locator("table.documents a").first).to_have_text(re.compile("|".join(names)))
        number = int(str(cards.first.get_attribute("href")).rpartition("/")[2])
        review = store.review(number)
        assert review
        store.save(number, 0, [replace(one, state="confirmed") for one in review.values], done=True, reviewer="anna")
        page.reload()
        expect(cards).to_have_count(shown - 1)
    store.add(answered("new", model_version="2"))
    assert owned.found("").documents == 0, "a new version begins anew"
    store.close()
