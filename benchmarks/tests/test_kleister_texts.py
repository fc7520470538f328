import hashlib
import lzma
from pathlib import Path

import pytest

from layoutray.document import Field
from layoutray.errors import DocumentError, InputError
from layoutray.prepare.recognise import AnnotationWordSource, open_document
from layoutray.readers import load
from tests.readers.native import items, put

READER = load("kleister_texts")


def write(root: Path, *texts: str, expected: str | None, split: str = "train") -> Path:
    rows = "".join(f"{number}.pdf\tparty term\tother\tother\tother\t{text}\n" for number, text in enumerate(texts))
    put(root / split / "in.tsv.xz", lzma.compress(rows.encode()))
    if expected is not None:
        put(root / split / "expected.tsv", expected)
    return root


def words(text: str, root: Path) -> list[list[str]]:
    """The words of each line of the one page of `text`."""
    (item,) = READER.discover(str(write(root, text, expected="\n")))
    (page,) = READER.read(item).pages
    lines = sorted({word.line for word in page.words})
    return [[word.text for word in page.words if word.line == line] for line in lines]


def test_the_last_column_is_the_text_and_its_line_the_values(tmp_path: Path) -> None:
    root = write(tmp_path, "Between Nike, Inc.", "of 2 years", expected="party=Nike_Inc.\nterm=2_years\n")
    found = items(READER, root)
    truth = READER.read(found["train", "0"])
    assert truth.document.fields == (Field("party", "Nike Inc."),)
    assert [word.text for word in truth.pages[0].words] == ["Between", "Nike,", "Inc."]
    assert truth.document.doc_id == hashlib.sha256(b"Between Nike, Inc.").hexdigest()
    assert truth.document.source == f"{root / 'train' / 'in.tsv.xz'}#1"
    assert READER.read(found["train", "1"]).document.fields == (Field("term", "2 years"),)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (r"one\ntwo", [["one"], ["two"]]),
        (r"one\ftwo", [["one"], ["two"]]),
        (r"one\ttwo", [["one", "two"]]),
        (r"one\\ntwo", [[r"one\ntwo"]]),
        (r"\"one\x", [[r"\"one\x"]]),
    ],
)
def test_escapes_are_undone(text: str, lines: list[list[str]], tmp_path: Path) -> None:
    assert words(text, tmp_path) == lines


def test_pages_are_opened_without_the_pdf(tmp_path: Path) -> None:
    write(tmp_path, r"\n".join(["word"] * 60), expected="\n")
    (item,) = READER.discover(str(tmp_path))
    opened = open_document(AnnotationWordSource(READER), item)
    assert (opened.letter, opened.pages, item.image) == (None, (1, 2), "")


def test_a_set_without_values_has_documents_without_fields(tmp_path: Path) -> None:
    (item,) = READER.discover(str(write(tmp_path, "a", expected=None, split="test-A")))
    assert (item.split, READER.read(item).document.fields) == ("test", ())


def test_a_row_without_text_becomes_a_dead_letter(tmp_path: Path) -> None:
    (item,) = READER.discover(str(write(tmp_path, r"\n \f", expected="\n")))
    with pytest.raises(DocumentError, match=r"in\.tsv\.xz#1: the text has no words"):
        READER.read(item)


def test_a_row_of_a_name_and_keys_has_no_text(tmp_path: Path) -> None:
    put(tmp_path / "train" / "in.tsv.xz", lzma.compress(b"a.pdf\tparty\n"))
    (item,) = READER.discover(str(tmp_path))
    with pytest.raises(DocumentError, match="the text has no words"):
        READER.read(item)


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"in\.tsv\.xz"):
        list(READER.discover(str(tmp_path)))
