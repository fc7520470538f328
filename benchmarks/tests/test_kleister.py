import hashlib
import lzma
from collections import Counter
from pathlib import Path

import pytest

from layoutray.document import Field
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.prepare.recognise import AnnotationWordSource, open_document
from layoutray.readers import load
from tests.readers.native import items, put

READER = load("kleister")
ROW = '{}\tparty term\ta "quote\\n\\ttext\x0b\x1c\tb\tc\td'


def write(root: Path, *names: str, expected: str | None = "", split: str = "train") -> Path:
    put(root / split / "in.tsv.xz", lzma.compress("".join(ROW.format(name) + "\n" for name in names).encode()))
    if expected is not None:
        put(root / split / "expected.tsv", expected)
    for name in names:
        put(root / "documents" / name, f"PDF {name}")
    return root


def test_values_belong_to_the_row_of_their_line(tmp_path: Path) -> None:
    root = write(tmp_path, "a.pdf", "b.pdf", "c.pdf", expected="party=Nike_Inc. party=A=B term=2_years\n\nparty=“Ö”\n")
    found = items(READER, root)
    truths = [READER.read(found["train", key]).document for key in "abc"]
    assert truths[0].fields == (Field("party", "Nike Inc."), Field("party", "A=B"), Field("term", "2 years"))
    assert [truth.fields for truth in truths[1:]] == [(), (Field("party", "“Ö”"),)]
    assert truths[0].doc_id == hashlib.sha256(b"PDF a.pdf").hexdigest()
    assert (truths[0].num_pages, found["train", "a"].image) == (0, str(root / "documents" / "a.pdf"))


def test_splits_are_the_sets_own_and_its_test_has_no_values(tmp_path: Path) -> None:
    write(tmp_path, "a.pdf", expected="term=1_year\n")
    write(tmp_path, "b.pdf", expected="term=1_year", split="dev-0")
    write(tmp_path, "c.pdf", expected=None, split="test-A")
    found = items(READER, tmp_path)
    assert set(found) == {("train", "a"), ("dev", "b"), ("test", "c")}
    assert READER.read(found["dev", "b"]).document.fields == (Field("term", "1 year"),)
    assert (found["test", "c"].annotation, READER.read(found["test", "c"]).document.fields) == ("", ())


def test_a_pdf_that_is_not_there_is_a_dead_letter_of_its_own(tmp_path: Path) -> None:
    (write(tmp_path, "a.pdf", "b.pdf", expected="\n\n") / "documents" / "a.pdf").unlink()
    opened = [open_document(AnnotationWordSource(READER), item) for item in READER.discover(str(tmp_path))]
    assert [one.letter is not None and one.letter.reason for one in opened] == [Reason.NOT_FOUND, Reason.BAD_ANNOTATION]


@pytest.mark.parametrize("expected", ["term=1_year\n", "\n\n\n"])
def test_another_number_of_lines_is_refused(tmp_path: Path, expected: str) -> None:
    with pytest.raises(InputError, match="has 2 rows"):
        list(READER.discover(str(write(tmp_path, "a.pdf", "b.pdf", expected=expected))))


@pytest.mark.parametrize("pair", ["term", "=1_year", "term="])
def test_what_is_no_pair_is_refused(tmp_path: Path, pair: str) -> None:
    (item,) = READER.discover(str(write(tmp_path, "a.pdf", expected=f"party=A {pair}\n")))
    with pytest.raises(DocumentError, match="is not `key=value`"):
        READER.read(item)


@pytest.mark.parametrize("name", ["", "../train/in.tsv.xz"])
def test_rows_have_to_name_a_file_of_the_documents(tmp_path: Path, name: str) -> None:
    put(tmp_path / "train" / "in.tsv.xz", lzma.compress(f"{name}\tparty\n".encode()))
    with pytest.raises(InputError, match="expected the name of a file"):
        list(READER.discover(str(tmp_path)))


def test_what_is_not_xz_is_named(tmp_path: Path) -> None:
    put(write(tmp_path, "a.pdf") / "train" / "in.tsv.xz", b"a.pdf\tparty\n")
    with pytest.raises(InputError, match=r"in\.tsv\.xz: is not an xz file"):
        list(READER.discover(str(tmp_path)))


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"in\.tsv\.xz"):
        list(READER.discover(str(tmp_path)))


def test_real_agreements(data_root: Path) -> None:
    root = data_root / "kleister-nda"
    found = list(READER.discover(str(root)))
    if Counter(item.split for item in found) != {"train": 214, "dev": 63, "test": 203}:
        pytest.skip(f"{root} does not hold the agreements that the totals are known of")
    held = {name.name for name in (root / "documents").iterdir()}
    shipped = [item for item in found if item.source.rpartition("/")[2] in held]
    assert Counter(item.split for item in shipped) == {"train": 80, "dev": 40}
    counts = Counter[str]()
    for item in shipped:
        names = {field.name for field in READER.read(item).document.fields}
        counts.update(f"{item.split} {name}" for name in names)
        assert names <= {"effective_date", "jurisdiction", "party", "term"}
    assert (counts["train jurisdiction"], counts["dev party"]) == (80, 40)
