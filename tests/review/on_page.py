"""What people do on the page, for several tests."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect


def show(page: Page, number: int) -> None:
    """Open a document, and wait for its first picture."""
    with page.expect_response(lambda response: "/picture" in response.url and response.ok):
        page.goto(f"/#/document/{number}")
    expect(page.locator("li.value.current")).to_have_count(1)


def saved(page: Page) -> None:
    """Wait until the page says that everything is saved."""
    expect(page.locator("#status")).to_have_text("Saved")


def row(page: Page, name: str) -> Locator:
    """A value in the list."""
    return page.locator("li.value").filter(has=page.locator(".name", has_text=re.compile(f"^{re.escape(name)}$"))).first


def type_over(page: Page, name: str, text: str) -> None:
    row(page, name).locator(".main").click()
    page.keyboard.press("e")
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def drop(page: Page, place: Locator, *files: Path) -> None:
    """Drag files from outside the browser to a place and drop them, by events of the browser itself."""
    box = place.bounding_box()
    assert box
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    dragged = {"items": [], "files": [str(file) for file in files], "dragOperationsMask": 1}
    events = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        events.send("Input.dispatchDragEvent", {"type": kind, **at, "data": dragged})
    events.detach()
