"""Pages of documents that wait: known to the next attempt, shown at once, and their words forgotten at the end."""

import pytest

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.answers import Entity, Problem, Region
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.page_ledger import PageLedger
from layoutray.serving.jobs.records import JobFile, Submission, WaitingDocument
from layoutray.serving.outcome import Outcome
from tests.serving.ledger_places import LedgerPlace


def outcome(text: str = "secretword") -> Outcome:
    word = Word(text, Box(0.1, 0.2, 0.3, 0.4), 0.9, 1, 2)
    page = Page("same", 1, 10, 20, (word,), "a.png", "", "", Provenance("ocr", "a picture", "engine", "1", "{}"))
    entity = Entity("total", text, 0.5, (Region(1, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)),), (0,), 0.25)
    return Outcome(page, (entity,), ocr=1.5, model=0.25)


def opened(ledger: Ledger, *addresses: str) -> list[WaitingDocument]:
    """The documents of a job of objects with the same content, of three pages each."""
    ledger.add(Submission("acme", {}, ""), [JobFile(one, one, None) for one in addresses])
    for _ in addresses:
        document = ledger.next(())
        assert document is not None
        ledger.opened(document, 3, "same")
    first = ledger.next(())
    assert first is not None
    return [first]


def lines(pages: PageLedger, job: str, after: int = 0, limit: int = 10) -> list[tuple[int, str, int]]:
    return [(line["number"], line["file"], line["page_number"]) for line in pages.results(job, after, limit)]


def test_another_attempt_gets_the_page_as_it_was(ledger: Ledger, place: LedgerPlace) -> None:
    (document,) = opened(ledger, "s3://b/a")
    pages = PageLedger(ledger.database)
    failed = Outcome(None, problem=Problem("unreadable", "render", "no", False, 2))
    pages.put(document, 1, "v1", outcome(), {"page_number": 1})
    pages.put(document, 2, "v1", failed, {"page_number": 2})
    again = PageLedger(place.open().database)
    assert again.get(document, 1, "v1") == outcome()
    assert again.get(document, 2, "v1") == failed
    assert again.get(document, 3, "v1") is None
    assert again.get(document, 1, "v2") is None, "no answer mixes two versions"


def test_pages_that_are_answered_are_done_while_their_document_waits(ledger: Ledger) -> None:
    (document,) = opened(ledger, "s3://b/a")
    PageLedger(ledger.database).put(document, 2, "v1", outcome(), {"page_number": 2})
    found = ledger.status(document.job)
    assert found is not None
    assert (found[1].pages_done, found[1].pages_left) == (1, 2)
    ledger.finish(document, "answered", {})
    found = ledger.status(document.job)
    assert found is not None
    assert (found[1].pages_done, found[1].pages_left) == (3, 0)


def test_pages_have_lines_in_the_order_of_their_answers_once_for_each_file(ledger: Ledger) -> None:
    (document,) = opened(ledger, "s3://b/a", "s3://b/b")
    pages = PageLedger(ledger.database)
    for page in (3, 1, 2):
        pages.put(document, page, "v1", outcome(), None if page == 1 else {"page_number": page})
    assert lines(pages, document.job) == [
        (1, "s3://b/a", 3),
        (1, "s3://b/b", 3),
        (3, "s3://b/a", 2),
        (3, "s3://b/b", 2),
    ]
    assert [line[0] for line in lines(pages, document.job, after=1)] == [3, 3]
    assert [line[0] for line in lines(pages, document.job, limit=1)] == [1, 1]
    pages.put(document, 3, "v2", outcome(), {"page_number": 3})
    assert [line[0] for line in lines(pages, document.job)] == [3, 3, 4, 4], (
        "of another version: the page is answered anew"
    )


def test_words_of_pages_are_forgotten_when_no_document_with_them_waits(ledger: Ledger, place: LedgerPlace) -> None:
    (first,) = opened(ledger, "s3://b/a", "s3://b/b")
    pages = PageLedger(ledger.database)
    pages.put(first, 1, "v1", outcome(), {"page_number": 1})
    ledger.finish(first, "answered", {})
    second = ledger.next(())
    assert second is not None
    assert pages.get(second, 1, "v1") == outcome(), "equal pages are answered once"
    ledger.finish(second, "answered", {})
    assert pages.get(second, 1, "v1") is None
    assert len(lines(pages, first.job)) == 2
    ledger.database.sync()
    assert place.having(b"secretword") == []


@pytest.mark.parametrize("end", ["delete", "cancel"])
def test_nothing_is_kept_of_what_was_deleted_or_cancelled(ledger: Ledger, end: str) -> None:
    (document,) = opened(ledger, "s3://b/a")
    pages = PageLedger(ledger.database)
    pages.put(document, 1, "v1", outcome(), {"page_number": 1})
    getattr(ledger, end)(document.job)
    pages.put(document, 2, "v1", outcome(), {"page_number": 2})
    assert pages.get(document, 1, "v1") is None
    assert lines(pages, document.job) == ([] if end == "delete" else [(1, "s3://b/a", 1)])
