"""The review page of a real endpoint in a real browser: keys, dropped scans, and hostile documents."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from layoutray.serving.access.keys import KeyStore
from tests.browser import chromium, opened
from tests.ocr.files import encoded, picture
from tests.review.on_page import drop, row, saved

pytestmark = [pytest.mark.ray, pytest.mark.ocr, pytest.mark.browser, pytest.mark.usefixtures("cluster")]

PRINTED = "<script>harmed=1</script>"
NAME = "<img src=x onerror='harmed=1'>.png"


@pytest.fixture
def page(client: httpx.Client) -> Iterator[Page]:
    with (
        chromium() as browser,
        opened(browser, str(client.base_url).rstrip("/"), viewport={"width": 1280, "height": 900}) as tab,
    ):
        yield tab


def test_a_scan_is_dropped_answered_and_corrected_and_its_text_does_nothing(
    page: Page, store: KeyStore, tmp_path: Path
) -> None:
    (tmp_path / NAME).write_bytes(encoded(picture(PRINTED, height=48), "PNG"))
    page.goto("/")
    page.get_by_label("Key of the endpoint").fill(store.create("browser", ["review"]))
    page.keyboard.press("Enter")
    drop(page, page.locator(".drop"), tmp_path / NAME)
    expect(page.locator(".document h1")).to_have_text(NAME)
    page.get_by_label("Name of a value to add", exact=True).fill("company")
    page.keyboard.press("Enter")
    expect(page.locator(".pages.choosing")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    expect(page.locator("polygon.chosen")).to_have_count(1)
    page.keyboard.press("Enter")
    saved(page)
    expect(row(page, "company").locator(".text")).to_contain_text("<script>")
    page.goto("/#/")
    expect(page.locator("table.documents").get_by_text(NAME).first).to_be_visible()
    assert page.evaluate("window.harmed") is None
    assert page.locator("main script, main img").count() == 0
