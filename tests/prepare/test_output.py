import dataclasses
from pathlib import Path

import pytest

from layoutray.document import Document
from layoutray.errors import DocumentError, Reason
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import Duplicate, PageTask, Plan
from layoutray.readers import DocumentRef
from layoutray.store import shards
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import DEAD_LETTERS, DOCUMENTS, PAGES
from tests.store.pages import page, word


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(str(tmp_path / "out"))


def page_task(doc_id: str, page_id: str = "", split: str = "train") -> PageTask:
    return PageTask(
        page_id=page_id or f"id-{doc_id}",
        doc_id=doc_id,
        page=1,
        reference=DocumentRef(key=doc_id, source=f"{doc_id}.png", image=f"{doc_id}.png", annotation="", split=split),
    )


def failed(one: PageTask) -> DeadLetter:
    return DeadLetter.of(
        DocumentError(Reason.TIMEOUT, "slow", stage="ocr"),
        one.reference.source,
        doc_id=one.doc_id,
        page_id=one.page_id,
        page=1,
    )


def commit(output: Output, *tasks: PageTask, but: tuple[PageTask, ...] = ()) -> None:
    """Commit `tasks` as one batch, those of `but` as failed."""
    output.commit(
        tasks,
        [failed(one) if one in but else page(one.doc_id, 1, word("x"), split=one.reference.split) for one in tasks],
    )


def plan(*tasks: PageTask, letters: tuple[DeadLetter, ...] = (), duplicates: tuple[Duplicate, ...] = ()) -> Plan:
    documents = tuple(
        Document(doc_id=one.doc_id, source=one.reference.source, split=one.reference.split, num_pages=1)
        for one in tasks
    )
    return Plan(page_tasks=tasks, documents=documents, letters=letters, duplicates=duplicates, repairs=0, dropped=0)


def page_ids(output: Output) -> list[str]:
    return sorted(shards.read(output.pages, PAGES, ["page_id"])["page_id"].to_pylist())


def dead(output: Output) -> list[tuple[str, str]]:
    rows = shards.read(output.dead_letters, DEAD_LETTERS).to_pylist() if shards.shards(output.dead_letters) else []
    return sorted((row["page_id"], row["source"]) for row in rows)


def test_what_was_committed_is_done(output: Output) -> None:
    a, b, c = page_task("a"), page_task("b"), page_task("c")
    commit(output, a, b, but=(b,))
    assert [one in output.done() for one in (a, b, c)] == [True, True, False]
    assert dead(output) == [("id-b", "b.png")]


def test_nothing_is_done_in_a_new_folder(output: Output) -> None:
    output.clear_half_written()
    assert page_task("a") not in output.done()


def test_the_same_batch_again_replaces_itself(output: Output) -> None:
    a, b = page_task("a"), page_task("b")
    commit(output, a, b, but=(b,))
    commit(output, a, b, but=(b,))
    assert page_ids(output) == ["id-a"]
    assert dead(output) == [("id-b", "b.png")]


def test_a_page_in_another_split_than_planned_is_moved_and_not_read_again(output: Output) -> None:
    commit(output, page_task("a"), page_task("b"))
    moved = plan(page_task("a", split="test"), page_task("b"))
    assert not output.done().remaining_pages(moved)
    output.reconcile(moved)
    rows = shards.read(output.pages, PAGES)
    assert dict(zip(rows["page_id"].to_pylist(), rows["split"].to_pylist(), strict=True)) == {
        "id-a": "test",
        "id-b": "train",
    }
    assert [len(words) for words in rows["words"].to_pylist()] == [1, 1]


def test_settling_changes_nothing_where_all_is_right(output: Output) -> None:
    a, b = page_task("a"), page_task("b")
    commit(output, a, b, but=(b,))
    before = {
        uri: Path(uri).stat().st_mtime_ns for uri in shards.shards(output.pages) + shards.shards(output.dead_letters)
    }
    output.reconcile(plan(a, b))
    assert {uri: Path(uri).stat().st_mtime_ns for uri in before} == before


def test_pages_that_two_runs_have_done_are_kept_once(output: Output) -> None:
    a, b, c = page_task("a"), page_task("b"), page_task("c")
    commit(output, a, b)
    commit(output, b, c)
    output.reconcile(plan(a, b, c))
    assert page_ids(output) == ["id-a", "id-b", "id-c"]


def test_pages_of_former_settings_leave(output: Output) -> None:
    old, new, other = page_task("a", "old"), page_task("a", "new"), page_task("b")
    commit(output, old, other)
    commit(output, new)
    output.reconcile(plan(new, other))
    assert page_ids(output) == ["id-b", "new"]


def test_pages_of_a_file_that_has_changed_leave(output: Output) -> None:
    commit(output, page_task("a"))
    changed = PageTask(page_id="id-changed", doc_id="changed", page=1, reference=page_task("a").reference)
    output.commit([changed], [page("changed", 1, source="a.png")])
    output.reconcile(plan(changed))
    assert page_ids(output) == ["id-changed"]


def test_pages_that_moved_to_another_split_are_kept_in_that_one(output: Output) -> None:
    commit(output, page_task("a"))
    commit(output, page_task("a", split="test"), page_task("b"))
    output.reconcile(plan(page_task("a", split="test"), page_task("b")))
    assert shards.read(output.pages, PAGES, ["page_id", "split"]).sort_by("page_id").to_pydict() == {
        "page_id": ["id-a", "id-b"],
        "split": ["test", "train"],
    }


def test_a_page_that_failed_once_and_worked_later_is_no_dead_letter(output: Output) -> None:
    a, b = page_task("a"), page_task("b")
    commit(output, a, b, but=(a, b))
    commit(output, a)
    output.reconcile(plan(a, b))
    assert page_ids(output) == ["id-a"]
    assert dead(output) == [("id-b", "b.png")]


def test_documents_of_other_runs_stay(output: Output) -> None:
    for one in (page_task("a"), page_task("b")):
        commit(output, one)
        output.reconcile(plan(one))
    assert page_ids(output) == ["id-a", "id-b"]
    assert sorted(shards.read(output.documents, DOCUMENTS)["doc_id"].to_pylist()) == ["a", "b"]


def test_a_document_that_cannot_be_opened_has_one_dead_letter_until_it_can(output: Output) -> None:
    letter = DeadLetter.of(DocumentError(Reason.EMPTY_FILE, "no bytes", stage="open"), "c.png")
    for _ in range(2):
        output.reconcile(plan(page_task("a"), letters=(letter,)))
        assert dead(output) == [("", "c.png")]
    output.reconcile(plan(page_task("a"), page_task("c")))
    assert dead(output) == []


def test_dead_letters_that_are_forgotten_are_to_do_again(output: Output) -> None:
    a, b, c = page_task("a"), page_task("b"), page_task("c")
    commit(output, a, b, c, but=(a, b))
    output.drop_dead_letters({"id-b", "id-c"})
    assert [one in output.done() for one in (a, b, c)] == [True, False, True]
    assert [letter.page_id for letter in output.read_dead_letters()] == ["id-a"]
    output.drop_dead_letters({"id-a"})
    assert output.read_dead_letters() == []


def test_what_comes_without_a_picture_is_no_dead_letter_but_keeps_its_pages(output: Output) -> None:
    commit(output, page_task("a"))
    letter = DeadLetter.of(DocumentError(Reason.NOT_FOUND, "no picture", stage="open"), "a.png")
    output.reconcile(plan(letters=(letter,)))
    output.reconcile(dataclasses.replace(plan(page_task("b")), without_picture=("a.png",)))
    assert (dead(output), page_ids(output)) == ([], ["id-a"])


def test_a_file_that_cannot_be_read_for_now_keeps_the_pages_that_it_had(output: Output) -> None:
    commit(output, page_task("a"))
    letter = DeadLetter.of(DocumentError(Reason.UNREADABLE, "not now", stage="open"), "a.png")
    output.reconcile(plan(page_task("b"), letters=(letter,)))
    assert page_ids(output) == ["id-a"]
