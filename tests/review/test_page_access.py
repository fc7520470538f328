"""axe-core finds no serious violation in any view and dialog, on wide and narrow screens, in light and dark colours."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, ViewportSize, expect

from layoutray.review.app import add_review_page
from layoutray.review.sessions import Authenticator, Sessions
from layoutray.review.store import ReviewStore
from tests.browser import listening, opened
from tests.review.conftest import Served
from tests.review.on_page import show, type_over

pytestmark = pytest.mark.browser

WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 390, "height": 844}
looks = pytest.mark.parametrize(
    ("scheme", "size"),
    [
        pytest.param("light", WIDE, id="wide-light"),
        pytest.param("dark", NARROW, id="narrow-dark"),
        pytest.param("light", NARROW, id="narrow-light", marks=pytest.mark.slow),
        pytest.param("dark", WIDE, id="wide-dark", marks=pytest.mark.slow),
    ],
)

Look = dict[str, Any]


@pytest.fixture
def look(scheme: str, size: ViewportSize) -> Look:
    return {"color_scheme": scheme, "viewport": size}


def serious(page: Page) -> list[tuple[str, str]]:
    """The rule and the element of each serious violation."""
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


@looks
def test_views(browser: Browser, served: Served, document: int, look: Look) -> None:
    with opened(browser, served.url, **look) as page:
        show(page, document)
        assert serious(page) == []
        page.keyboard.press("w")
        page.get_by_role("button", name="Accept", exact=True).wait_for()
        assert serious(page) == []
        page.goto("/#/?state=")
        page.locator("table.documents").wait_for()
        page.get_by_text("Commands that train on them").click()
        assert serious(page) == []


@looks
def test_dialogs(browser: Browser, served: Served, document: int, look: Look) -> None:
    with opened(browser, served.url, **look) as page:
        show(page, document)
        for name, problems in (*dialogs(page), conflict(page, served, document)):
            assert problems == [], name


def dialogs(page: Page) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Open each dialog of the document view that a person can ask for, and close it by Escape."""
    page.get_by_label("Name of a record to add").fill("unknown")
    openers = {
        "New record": page.get_by_role("button", name="Add a record").click,
        "History": page.get_by_role("button", name="History").click,
        "Keys of the document view": lambda: page.keyboard.press("?"),
        "Reviewer": page.locator("#reviewer").click,
    }
    for name, opening in openers.items():
        opening()
        page.get_by_role("dialog", name=name).wait_for()
        yield name, serious(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def conflict(page: Page, served: Served, document: int) -> tuple[str, list[tuple[str, str]]]:
    """The dialog about a value that two people have changed."""
    review = served.store.review(document)
    assert review
    theirs = [value if value.name != "total" else replace(value, text="theirs") for value in review.values]
    served.store.save(document, review.entry.revision, theirs, done=False, reviewer="bert")
    type_over(page, "total", "mine")
    page.get_by_role("dialog", name="Conflict").wait_for()
    return "Conflict", serious(page)


class WithKeys(Authenticator):
    needs_key = True


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_signing_in(browser: Browser, tmp_path: Path, scheme: str) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    app = FastAPI()
    add_review_page(app, store, Sessions(store.database, WithKeys(), "anna"))
    with listening(app) as url, opened(browser, url, color_scheme=scheme, viewport=NARROW) as page:
        page.goto("/")
        page.get_by_role("dialog", name="Sign in").wait_for()
        assert serious(page) == []
    store.close()
