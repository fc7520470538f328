"""Folders of answers as documents under review."""

from pathlib import Path

import pytest

from layoutray.errors import InputError
from layoutray.review.answered_folder import answered_documents
from layoutray.store.data_set import DataSet
from tests.review.answer_folders import write_answers


def test_a_document_has_its_pages_in_order_and_its_fields_name_their_words(tmp_path: Path) -> None:
    answers, pages = write_answers(tmp_path, ["a", "b"], pages_each=2)
    documents = list(answered_documents(answers, pages))
    assert {(one.doc_id, one.model_id, one.model_version) for one in documents} == {
        ("id-a", "receipts", "3"),
        ("id-b", "receipts", "3"),
    }
    stored = {(page.doc_id, page.number): page for page in DataSet(pages).read_pages()}
    for document in documents:
        assert document.pages == tuple(stored[document.doc_id, number] for number in (1, 2))
        fields = [one for one in document.said if not one.row]
        assert {"company", "date", "total"} <= {one.name for one in fields}
        for one in fields:
            words = document.pages[(one.page or 0) - 1].words
            assert " ".join(words[number].text for number in one.words) == one.text, one
        assert {one.page for one in document.said if one.row} == {1, 2}
        assert len({one.row for one in document.said if one.row}) > 2
        assert any(one.accepted for one in fields)
        assert document.rank is None


def test_without_fields_the_entities_are_the_values(tmp_path: Path) -> None:
    answers, pages = write_answers(tmp_path, ["a"])
    fields = {(one.name, one.words) for one in next(answered_documents(answers, pages)).said}
    (tmp_path / "answers/fields/part-one.parquet").unlink()
    (document,) = answered_documents(answers, pages)
    assert fields <= {(one.name, one.words) for one in document.said}
    assert not any(one.accepted for one in document.said)


def test_the_ranks_are_those_of_the_file_of_select(tmp_path: Path) -> None:
    answers, pages = write_answers(tmp_path, ["a", "b"])
    (tmp_path / "review.csv").write_text("rank,doc_id,source\n1,id-b,b\n")
    ranks = {one.doc_id: one.rank for one in answered_documents(answers, pages, str(tmp_path / "review.csv"))}
    assert ranks == {"id-a": None, "id-b": 1}


def test_folders_and_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    answers, pages = write_answers(tmp_path, ["a"])
    with pytest.raises(InputError, match="holds no jsonl"):
        list(answered_documents(pages, pages))
    (tmp_path / "other.csv").write_text("name,value\na,b\n")
    with pytest.raises(InputError, match="has no columns rank and doc_id"):
        list(answered_documents(answers, pages, str(tmp_path / "other.csv")))
