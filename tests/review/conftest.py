"""One browser and one server for all tests of this folder. They end with it: a thread has one browser at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from playwright.sync_api import Browser, Page

from layoutray.review.app import add_review_page
from layoutray.review.documents import AnsweredDocument
from layoutray.review.sessions import Authenticator, Sessions, Visitor
from layoutray.review.store import ReviewStore
from layoutray.review.values import Value
from tests.browser import chromium, listening, opened
from tests.review.documents import answered


@dataclass(frozen=True)
class Served:
    """A review page with its address and its documents."""

    url: str
    store: ReviewStore

    def values(self, number: int) -> dict[str, Value]:
        """The stored values of a document that are no records, by name."""
        review = self.store.review(number)
        assert review
        return {value.name: value for value in review.values if not value.row}


async def answer_upload(request: Request, _: Visitor) -> AnsweredDocument:
    """Answers an upload as a model would that finds the values of receipt `drop`."""
    async with request.form() as form:
        assert form["file"]
    return answered("drop")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = ReviewStore.open(str(tmp_path_factory.mktemp("review") / "review.db"))
    app = FastAPI()
    commands = ["layoutray train LABELLED_DOCUMENTS IN --out OUT"]
    add_review_page(app, store, Sessions(store.database, Authenticator(), "anna"), answer_upload, commands)
    with listening(app) as url:
        yield Served(url, store)
    store.close()


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    with opened(browser, served.url, viewport={"width": 1280, "height": 800}) as tab:
        yield tab


@pytest.fixture
def document(served: Served, request: pytest.FixtureRequest) -> int:
    """A new document for one test."""
    return served.store.add(answered(request.node.name))


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    """A file to drop."""
    file = tmp_path / "scan.png"
    file.write_bytes(answered("drop").content)
    return file
