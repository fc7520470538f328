"""The review file: what is kept, conflicts, samples, queue and progress."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.review import queue
from layoutray.review.queue import Filter
from layoutray.review.store import ConflictError, Review, ReviewStore, UnseenError
from layoutray.review.values import Value
from tests.review.documents import answered


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReviewStore]:
    opened = ReviewStore.open(str(tmp_path / "review.db"))
    yield opened
    opened.close()


def review(store: ReviewStore, number: int) -> Review:
    found = store.review(number)
    assert found
    return found


def with_text(found: Review, name: str, text: str) -> list[Value]:
    return [replace(one, text=text, state="confirmed") if one.name == name else one for one in found.values]


def confirmed(found: Review) -> list[Value]:
    return [replace(one, state="confirmed") for one in found.values]


def test_a_document_is_kept_as_it_is_and_once(store: ReviewStore) -> None:
    document = answered("kept", pages=2)
    number = store.add(document)
    assert store.add(document) == number
    assert tuple(store.page(number, page) for page in (1, 2)) == document.pages
    assert store.content(number) == document.content
    found = review(store, number)
    assert tuple(found.said.values()) == document.said
    assert [value.text for value in found.values] == [said.text for said in document.said]
    newer = store.add(replace(document, model_version="2"))
    assert newer != number


def test_a_file_from_before_there_were_teams_keeps_its_documents(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    store = ReviewStore.open(str(file))
    number = store.add(answered("kept"))
    store.close()
    with sqlite3.connect(file) as connection:
        connection.executescript("ALTER TABLE sessions DROP COLUMN key; PRAGMA user_version = 1")
    connection.close()
    store = ReviewStore.open(str(file), create=False)
    assert review(store, number).values
    assert store.database.rows("SELECT key FROM sessions") == []
    store.close()


def test_a_save_from_an_old_revision_changes_nothing(store: ReviewStore) -> None:
    number = store.add(answered("conflict"))
    before = review(store, number)
    assert store.save(number, 0, with_text(before, "total", "1"), done=False, reviewer="anna") == 1
    with pytest.raises(ConflictError):
        store.save(number, 0, with_text(before, "total", "2"), done=False, reviewer="bert")
    now = review(store, number)
    assert [value.text for value in now.values if value.name == "total"] == ["1"]
    assert store.save(number, 1, now.values, done=False, reviewer="anna") == 1
    assert [(one.reviewer, one.action, one.name) for one in store.corrections(number)] == [("anna", "changed", "total")]


def test_a_document_is_finished_when_all_is_looked_at_and_not_finished_any_more_when_it_is_changed(
    store: ReviewStore,
) -> None:
    number = store.add(answered("finished"))
    found = review(store, number)
    with pytest.raises(UnseenError, match=f"^{found.entry.looks} values still need a look"):
        store.save(number, 0, found.values, done=True, reviewer="anna")
    assert review(store, number).entry.state == "open"
    store.save(number, 0, confirmed(found), done=True, reviewer="anna")
    assert review(store, number).entry.state == "done"
    store.save(number, 1, with_text(review(store, number), "total", "1"), done=False, reviewer="bert")
    assert review(store, number).entry.state == "accepted"
    actions = [one.action for one in store.corrections(number)]
    assert actions == [*["confirmed"] * len(found.values), "done", "changed", "reopened"]


def test_the_queue_is_ordered_by_rank_then_doubt_and_filtered(store: ReviewStore) -> None:
    documents = [answered(f"queue-{number}") for number in range(4)]
    ranked = replace(documents[0], doc_id="ranked", rank=1, model_version="2")
    numbers = [store.add(one) for one in (*documents, ranked)]
    entries, count = queue.listed(store, Filter(), 0, 10)
    assert count == 5
    assert entries[0].number == numbers[-1]
    doubts = [entry.doubt for entry in entries[1:]]
    assert doubts == sorted(doubts, reverse=True)
    assert queue.listed(store, Filter(model_version="2"), 0, 10)[1] == 1
    assert queue.listed(store, Filter(owner="somebody else"), 0, 10)[1] == 0
    below = queue.listed(store, Filter(field="total", below=0.7), 0, 10)[0]
    said = {entry.number: review(store, entry.number).said.values() for entry in entries}
    unsure = {n for n, all_said in said.items() if any(s.name == "total" and s.confidence < 0.7 for s in all_said)}
    assert {entry.number for entry in below} == unsure


def test_the_queue_lists_a_document_once_as_finished_or_by_the_latest_version(store: ReviewStore) -> None:
    document, other = answered("versions"), answered("finished")
    store.add(document)
    done = store.add(other)
    store.save(done, 0, confirmed(review(store, done)), done=True, reviewer="anna")
    newer = [store.add(replace(one, model_version="2")) for one in (document, other)]
    assert {entry.number for entry in queue.listed(store, Filter(), 0, 10)[0]} == {done, newer[0]}
    assert queue.listed(store, Filter(model_version="1"), 0, 10)[1] == 2
    progress = queue.progress(store, "")
    assert progress.states == {"done": 1, "open": 1}
    assert progress.looks == review(store, newer[0]).entry.looks


def test_accepted_values_need_no_look_but_their_sample_measures_them(tmp_path: Path) -> None:
    document = answered("sample")
    sure = replace(document, said=tuple(replace(one, accepted=True, confidence=0.99) for one in document.said))
    trusting = ReviewStore.open(str(tmp_path / "trusting.db"))
    assert review(trusting, trusting.add(sure)).entry.state == "accepted"
    checking = ReviewStore.open(str(tmp_path / "checking.db"), sample=1.0)
    number = checking.add(sure)
    found = review(checking, number)
    assert (found.entry.state, found.entry.looks) == ("open", len(sure.said))
    values = confirmed(found)
    values[0] = replace(values[0], text="another")
    checking.save(number, 0, values, done=True, reviewer="anna")
    progress = queue.progress(checking, None)
    assert (progress.sample.right, progress.sample.count) == (len(sure.said) - 1, len(sure.said))
    assert (progress.states, progress.looks, progress.corrections) == ({"done": 1}, 0, 1)
