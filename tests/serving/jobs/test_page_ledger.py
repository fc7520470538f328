"""Pages of documents that wait: known to the next attempt, shown at once, and their words forgotten at the end."""

import asyncio

import pytest

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.answers import Entity, Problem, Region
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.page_ledger import PagesOfDocument, page_results
from layoutray.serving.jobs.records import JobFile, Submission, WaitingDocument
from layoutray.serving.model import ModelDescription, Version
from layoutray.serving.outcome import Outcome
from tests.serving.ledger_places import LedgerPlace


def outcome(text: str = "secretword") -> Outcome:
    word = Word(text=text, box=Box(0.1, 0.2, 0.3, 0.4), confidence=0.9, line=1, block=2)
    page = Page(
        doc_id="same",
        number=1,
        width=10,
        height=20,
        words=(word,),
        source="a.png",
        image="",
        split="",
        provenance=Provenance(words="ocr", reason="a picture", engine="engine", version="1", settings="{}"),
    )
    entity = Entity(
        type="total",
        content=text,
        confidence=0.5,
        bounding_regions=(Region(1, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)),),
        words=(0,),
        reading_confidence=0.25,
    )
    return Outcome(page=page, entities=(entity,), ocr=1.5, model=0.25)


def opened(ledger: Ledger, *addresses: str) -> WaitingDocument:
    """The first document of a job of objects with the same content, of three pages each."""
    files = [JobFile(one, one, None) for one in addresses]
    ledger.add(Submission(owner="acme", options={}, files=files), 100)
    for _ in addresses:
        document = ledger.next((), "acme")
        assert document is not None
        ledger.opened(document, 3, "same")
    first = ledger.next((), "acme")
    assert first is not None
    return first


def model(version: str, *, writes: bool = False) -> ModelDescription:
    return ModelDescription(
        version=Version("checkpoint", version),
        model_id="forms",
        model_version=version,
        task="fields",
        path="/v1/extract",
        writes=writes,
        entity_types=(),
        fields={},
        records={},
        explains=False,
        tried_on="a generated page",
    )


V1, V2 = model("v1"), model("v2")


def put(ledger: Ledger, document: WaitingDocument, page: int, given: Outcome, answers: ModelDescription = V1) -> None:
    asyncio.run(PagesOfDocument(ledger.database, document, answers).put(page, given))


def get(ledger: Ledger, document: WaitingDocument, page: int, answers: ModelDescription = V1) -> Outcome | None:
    return asyncio.run(PagesOfDocument(ledger.database, document, answers).get(page))


def lines(ledger: Ledger, job: str, after: int = 0, limit: int = 10) -> list[tuple[int, str, int]]:
    found = page_results(ledger.database, job, after, limit)
    return [(line["number"], line["file"], line["page_number"]) for line in found]


def counts(ledger: Ledger, job: str) -> tuple[int, int]:
    found = ledger.status(job)
    assert found is not None
    return found.shown.pages.done, found.shown.pages.left


def test_another_attempt_gets_the_page_as_it_was(ledger: Ledger, place: LedgerPlace) -> None:
    document = opened(ledger, "s3://b/a")
    failed = Outcome(
        page=None, problem=Problem(code="unreadable", stage="render", message="no", retryable=False, page_number=2)
    )
    put(ledger, document, 1, outcome())
    put(ledger, document, 2, failed)
    put(
        ledger,
        document,
        3,
        Outcome(
            page=None, problem=Problem(code="timeout", stage="ocr", message="later", retryable=True, page_number=3)
        ),
    )
    again = place.open()
    assert get(again, document, 1) == outcome()
    assert get(again, document, 2) == failed
    assert get(again, document, 3) is None, "it failed for a reason that may pass"
    assert get(again, document, 1, V2) is None, "no answer mixes two versions"


def test_pages_that_are_answered_are_done_while_their_document_waits(ledger: Ledger) -> None:
    document = opened(ledger, "s3://b/a")
    put(ledger, document, 2, outcome())
    assert counts(ledger, document.job) == (1, 2)
    ledger.finish(document, "answered", {})
    assert counts(ledger, document.job) == (3, 0)


def test_pages_have_lines_in_the_order_of_their_answers_once_for_each_file(ledger: Ledger) -> None:
    document = opened(ledger, "s3://b/a", "s3://b/b")
    put(ledger, document, 3, outcome())
    put(ledger, document, 1, outcome(), model("v1", writes=True))
    put(ledger, document, 2, outcome())
    assert lines(ledger, document.job) == [
        (1, "s3://b/a", 3),
        (1, "s3://b/b", 3),
        (3, "s3://b/a", 2),
        (3, "s3://b/b", 2),
    ]
    assert [line[0] for line in lines(ledger, document.job, after=1)] == [3, 3]
    assert [line[0] for line in lines(ledger, document.job, limit=1)] == [1, 1]
    put(ledger, document, 3, outcome(), V2)
    assert [line[0] for line in lines(ledger, document.job)] == [3, 3, 4, 4], (
        "of another version: the page is answered anew"
    )


def test_words_of_pages_are_forgotten_when_no_document_with_them_waits(ledger: Ledger, place: LedgerPlace) -> None:
    first = opened(ledger, "s3://b/a", "s3://b/b")
    put(ledger, first, 1, outcome(), model("v1", writes=True))
    ledger.finish(first, "answered", {})
    second = ledger.next((), "acme")
    assert second is not None
    assert get(ledger, second, 1) == outcome(), "equal pages are answered once"
    put(
        ledger,
        second,
        2,
        Outcome(
            page=None, problem=Problem(code="unreadable", stage="render", message="no", retryable=False, page_number=2)
        ),
    )
    ledger.finish(second, "answered", {})
    assert get(ledger, second, 1) is None
    assert len(lines(ledger, first.job)) == 2
    assert place.having(b"secretword") == []


@pytest.mark.parametrize("end", ["delete", "cancel"])
def test_nothing_is_kept_of_what_was_deleted_or_cancelled(ledger: Ledger, end: str) -> None:
    document = opened(ledger, "s3://b/a")
    put(ledger, document, 1, outcome())
    getattr(ledger, end)(document.job)
    put(ledger, document, 2, outcome())
    assert get(ledger, document, 1) is None
    assert lines(ledger, document.job) == ([] if end == "delete" else [(1, "s3://b/a", 1)])
