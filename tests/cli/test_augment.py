from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.cli.main import main
from layoutray.document import Document, Field, Page
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from tests.jobs import pages, write_pages

MADE = pages(30, 3)


def read_by_ocr(page: Page) -> Page:
    """The page as an OCR engine reads it that takes every 0 for an O."""
    words = tuple(replace(word, text=word.text.replace("0", "O"), tag=None) for word in page.words)
    return replace(page, words=words)


def write_documents(folder: str) -> None:
    documents = [
        Document(page.doc_id, page.source, page.split, num_pages=1, fields=(Field("total", "1.00"),)) for page in MADE
    ]
    shards.write(codec.documents_table(documents), DataSet(folder).documents, "part-one.parquet")


def test_copies_have_the_errors_of_ocr_and_the_tags_of_the_annotation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    annotated = write_pages(tmp_path / "annotated", MADE)
    write_documents(annotated)
    read = write_pages(tmp_path / "read", [read_by_ocr(page) for page in MADE])
    assert main(["augment", annotated, read, str(tmp_path / "out")]) == 0
    assert "30 training pages" in capsys.readouterr().err
    out = DataSet(str(tmp_path / "out"))
    copies = list(out.read_pages())
    originals = {page.source: page for page in MADE[:30]}
    assert {copy.source for copy in copies} == originals.keys(), "dev pages are not copied"
    for copy in copies:
        expected = read_by_ocr(originals[copy.source])
        assert [word.text.upper() for word in copy.words] == [word.text.upper() for word in expected.words]
        assert [word.tag for word in copy.words] == [word.tag for word in originals[copy.source].words]
    copied = list(out.read_documents())
    assert {document.doc_id for document in copied} == {copy.doc_id for copy in copies}
    assert not {copy.doc_id for copy in copies} & {page.doc_id for page in MADE}, "copies are documents of their own"
    assert all(document.fields for document in copied)


def test_sets_without_a_page_in_common_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    annotated = write_pages(tmp_path / "annotated", MADE[:3])
    read = write_pages(tmp_path / "read", MADE[3:6])
    assert main(["augment", annotated, read, str(tmp_path / "out")]) == 1
    assert "have 0 training pages in common" in capsys.readouterr().err
    assert main(["augment", annotated, annotated, annotated]) == 1
    assert "is not empty; give another folder" in capsys.readouterr().err
