"""The folder of a data set, and what is said of a folder that is none."""

from pathlib import Path

import pyarrow.compute as pc
import pytest

from layoutray.document import Document
from layoutray.errors import DocumentError, Reason, SchemaError
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter
from tests.store.pages import page, word

PAGES = [page("a", 1, word("one")), page("a", 2), page("b", 1, word("two"), split="dev")]
DOCUMENTS = [
    Document(doc_id="a", source="a.png", split="train", num_pages=2),
    Document(doc_id="b", source="b.png", split="dev", num_pages=1),
]
LETTER = DeadLetter.of(DocumentError(Reason.EMPTY_FILE, "no bytes", stage="open"), "c.png")


@pytest.fixture
def data_set(tmp_path: Path) -> DataSet:
    written = DataSet(str(tmp_path / "set"))
    shards.write(codec.pages_table(PAGES, ["a1", "a2", "b1"]), written.pages, "part-0.parquet")
    shards.write(codec.documents_table(DOCUMENTS), written.documents, "part-0.parquet")
    return written


def test_pages_documents_and_dead_letters_are_read(data_set: DataSet) -> None:
    data_set.check()
    dev = pc.field("split") == "dev"
    assert list(data_set.read_pages()) == PAGES
    assert list(data_set.read_pages(dev)) == PAGES[2:]
    assert [table["page_id"].to_pylist() for table in data_set.scan_pages(["page_id"], dev)] == [["b1"]]
    assert list(data_set.read_documents(dev)) == DOCUMENTS[1:]
    assert data_set.read_dead_letters() == []
    shards.write(codec.dead_letters_table([LETTER]), data_set.dead_letters, "part-0.parquet")
    assert data_set.read_dead_letters() == [LETTER]


def test_a_data_set_may_have_a_manifest_but_no_pages(tmp_path: Path) -> None:
    data_set = DataSet(str(tmp_path))
    data_set.write_manifest(b"{}")
    data_set.check()
    with pytest.raises(SchemaError, match=r"pages has no \.parquet shards"):
        next(data_set.read_pages())


@pytest.mark.parametrize("part", ["pages", "documents"])
def test_a_part_of_a_data_set_is_refused_with_the_folder_to_give(data_set: DataSet, part: str) -> None:
    for folder in (f"{data_set.folder}/{part}", f"{data_set.folder}/{part}/"):
        with pytest.raises(SchemaError, match=f"is the folder `{part}` inside a data set; .*, {data_set.folder}$"):
            next(DataSet(folder).read_pages())


@pytest.mark.parametrize("folder", ["nowhere", "pages"])
def test_a_folder_that_is_no_data_set_is_refused_with_what_to_give(tmp_path: Path, folder: str) -> None:
    (tmp_path / "pages").mkdir()
    for read in (DataSet.read_pages, DataSet.read_documents):
        with pytest.raises(SchemaError, match=r"is not a data set: .*give a folder that `layoutray ingest` or"):
            next(read(DataSet(str(tmp_path / folder))))
