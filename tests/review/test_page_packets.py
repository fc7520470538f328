"""A packet on the page: boundaries and kinds are corrected by keys, and are truth for a model of pages."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from layoutray.document.packets import Part, parts_of
from layoutray.review.answered_folder import answered_documents
from layoutray.review.truth import document_of, reviewed
from layoutray.review.values import packet_values
from layoutray.store import shards
from tests.review.answer_folders import write_answers
from tests.review.conftest import Served
from tests.review.documents import answered
from tests.review.on_page import show

PACKET = ({"kind": "bill", "pages": [1, 2], "confidence": 0.7}, {"kind": "deed", "pages": [3], "confidence": 0.6})


def test_documents_of_a_packet_are_its_values(tmp_path: Path) -> None:
    answers, pages = write_answers(tmp_path, ["a"], pages_each=3)
    line = b'{"doc_id": "id-a", "documents": [{"kind": "bill", "pages": [1, 3], "confidence": 0.7}]}\n'
    shards.write_bytes(line, answers, "packets.jsonl")
    (document,) = answered_documents(answers, pages)
    assert [(one.name, one.text, one.page, one.needs_look) for one in document.said] == [("part", "1-3 bill", 1, True)]


@pytest.mark.browser
def test_one_key_moves_a_boundary_and_one_changes_the_kind(page: Page, served: Served) -> None:
    number = served.store.add(replace(answered("packet", pages=3), said=packet_values(PACKET)))
    show(page, number)
    begins = page.locator("svg.page.begins")
    expect(begins).to_have_count(2)
    page.keyboard.press("PageDown")
    page.keyboard.press("s")
    expect(page.locator("li.value")).to_contain_text(["1 bill", "2 bill", "3 deed"])
    page.keyboard.press("d")
    expect(page.locator("li.value").nth(1)).to_contain_text("2 deed")
    page.keyboard.press("PageDown")
    page.keyboard.press("s")
    expect(page.locator("li.value").nth(1)).to_contain_text("2-3 deed")
    expect(begins).to_have_count(2)
    page.keyboard.press("Control+Enter")
    expect(page).to_have_url(re.compile(f"#/(?!document/{number}$)"))
    (truth,) = (one for one in reviewed(served.store, None) if one["doc_id"] == answered("packet", pages=3).doc_id)
    assert parts_of(document_of(truth, "train")) == [Part("bill", 1, 1), Part("deed", 2, 3)]
