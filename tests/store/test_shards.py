import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.errors import SchemaError
from layoutray.store import codec, shards, sources
from layoutray.store.schema import DOCUMENTS, EXAMPLES, PAGES
from tests.serving.small_disk import small_disk
from tests.store.pages import page, word
from tests.store.test_sources import server  # noqa: F401  (a fixture)


@pytest.fixture
def pages() -> pa.Table:
    return codec.pages_table(
        [page("a", 1, word("x", tag="O")), page("b", 1), page("c", 2, word("é", confidence=0.5))], "abc"
    )


@pytest.fixture
def examples() -> pa.Table:
    row = {"doc_id": "a", "page": 1, "window": 0, "split": "train", "input_ids": [2, 7, 3], "word_index": [-1, 0, -1]}
    row |= {"neighbours": [[-1] * 8], "page_width": 600, "page_height": 800}
    boxes = [[0, 0, 0, 0], [10, 20, 30, 40], [0, 0, 0, 0]]
    return pa.Table.from_pylist(
        [row | {"boxes": boxes, "labels": [-100, 1, -100]}, row | {"boxes": boxes, "labels": None}], schema=EXAMPLES
    )


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "set")


def test_what_is_written_is_read(pages: pa.Table, folder: str) -> None:
    uri = shards.write(pages, folder, "part-1.parquet")
    assert shards.shards(folder) == [uri]
    assert shards.read(folder, PAGES).equals(pages)


def test_a_name_follows_from_the_rows_and_not_from_their_order() -> None:
    assert shards.part_name(["a", "b"]) == shards.part_name(["b", "a"]) != shards.part_name(["ab"])


def test_names_as_long_as_a_file_system_allows_are_written(folder: str) -> None:
    names = "a" * 255, "請" * 85
    shards.write_together(dict.fromkeys(names, b"x"), folder)
    with shards.writing(folder, names[0]) as stream:
        stream.write(b"y")
    assert {path.name: path.read_bytes() for path in Path(folder).iterdir()} == {names[0]: b"y", names[1]: b"x"}


def test_writing_again_replaces(pages: pa.Table, folder: str) -> None:
    shards.write(pages, folder, "part-1.parquet")
    shards.write(pages.slice(0, 1), folder, "part-1.parquet")
    assert shards.read(folder, PAGES).num_rows == 1
    assert [path.name for path in Path(folder).iterdir()] == ["part-1.parquet"]


def test_some_columns_of_some_rows(pages: pa.Table, folder: str) -> None:
    shards.write(pages, folder, "part-1.parquet")
    found = shards.read(folder, PAGES, ["doc_id"], pc.field("page") == 2)
    assert found.to_pydict() == {"doc_id": ["c"]}


def test_scan_gives_every_row_once(pages: pa.Table, folder: str) -> None:
    for name in ("part-1.parquet", "part-2.parquet"):
        shards.write(pages, folder, name)
    assert [row for table in shards.scan(folder, PAGES, ["doc_id"]) for row in table["doc_id"].to_pylist()] == list(
        "abcabc"
    )


def test_each_shard_has_its_address_and_may_be_replaced_at_once(pages: pa.Table, folder: str) -> None:
    uris = [shards.write(pages.slice(number, 1), folder, f"part {number} é.parquet") for number in range(3)]
    shards.write(pages.slice(0, 0), folder, "part-of-nothing.parquet")
    found: list[tuple[str, dict[str, list[str]]]] = []
    for uri, table in shards.read_each(folder, PAGES, ["doc_id"]):
        shards.write(pages, folder, "part-new.parquet")
        shards.remove([uri])
        found.append((uri, table.to_pydict()))
    assert found == [(uri, {"doc_id": [name]}) for uri, name in zip(uris, "abc", strict=True)]


def test_of_no_shard_there_is_nothing_and_of_another_table_an_error(pages: pa.Table, folder: str) -> None:
    assert list(shards.read_each(folder, PAGES, ["doc_id"])) == []
    shards.write(pages, folder, "part-1.parquet")
    with pytest.raises(SchemaError, match="contains pages, expected documents"):
        list(shards.read_each(folder, DOCUMENTS, ["doc_id"]))


def test_what_a_killed_writer_leaves_is_not_read_and_can_be_cleared(pages: pa.Table, folder: str) -> None:
    shards.write(pages, folder, "part-1.parquet")
    leftover = Path(folder) / ".part-2.parquet.0123.part"
    leftover.write_bytes(b"PAR1 half")
    keep = Path(folder) / ".mine"
    keep.touch()
    assert shards.read(folder, PAGES).num_rows == 3
    assert shards.remove_half_written(folder) == 1
    assert not leftover.exists()
    assert keep.exists()


def test_tables_one_after_the_other_are_one_shard(pages: pa.Table, folder: str) -> None:
    uri = shards.write_all((pages.slice(number, 1) for number in range(3)), PAGES, folder, "part-1.parquet")
    assert shards.read(folder, PAGES) == pages
    assert shards.shards(folder) == [uri]
    shards.write_all([], PAGES, folder, "part-1.parquet")
    assert shards.read(folder, PAGES).num_rows == 0
    with pytest.raises(OSError, match=r"part-2\.parquet"):
        shards.write_all(_then_fails(pages), PAGES, folder, "part-2.parquet")
    assert shards.shards(folder) == [uri]
    assert shards.remove_half_written(folder) == 0, "a failure leaves nothing behind"


def _then_fails(pages: pa.Table) -> Iterator[pa.Table]:
    yield pages
    raise OSError("part-2.parquet")


def test_a_failed_write_leaves_no_shard(pages: pa.Table, folder: str) -> None:
    target = Path(folder) / "part-1.parquet"
    target.mkdir(parents=True)
    (target / "in the way").touch()
    with pytest.raises(OSError, match=r"part-1\.parquet"):
        shards.write(pages, folder, "part-1.parquet")
    assert shards.shards(folder) == []


def test_files_that_belong_together_are_never_a_mixture(folder: str) -> None:
    shards.write_together({"a": b"1", "b": b"1", "z": b"1"}, folder)
    shards.write_together({"a": b"2", "b": b"2", "z": b"2"}, folder)
    assert [sources.read_bytes(uri) for uri in sources.list_files(folder)] == [b"2"] * 3
    (Path(folder) / "b").unlink()
    (Path(folder) / "b" / "in the way").mkdir(parents=True)
    with pytest.raises(OSError, match="b"):
        shards.write_together({"a": b"3", "b": b"3", "z": b"3"}, folder)
    assert not (Path(folder) / "z").exists(), "as a is no longer the one that z came with"


def test_a_folder_without_shards_is_named(folder: str) -> None:
    with pytest.raises(SchemaError, match=r"set has no \.parquet shards"):
        shards.read(folder, PAGES)


def test_another_table_is_refused_by_name(pages: pa.Table, folder: str) -> None:
    shards.write(pages, folder, "part-1.parquet")
    with pytest.raises(SchemaError, match=r"part-1\.parquet contains pages, expected documents"):
        shards.read(folder, DOCUMENTS)


def test_another_version_is_refused(pages: pa.Table, folder: str) -> None:
    shards.write(
        pages.replace_schema_metadata({**PAGES.metadata, b"layoutray.version": b"0"}), folder, "part-1.parquet"
    )
    with pytest.raises(SchemaError, match="version 0"):
        shards.read(folder, PAGES)


def test_pages_outlive_a_new_version_of_examples(pages: pa.Table, folder: str) -> None:
    assert (PAGES.metadata[b"layoutray.version"], EXAMPLES.metadata[b"layoutray.version"]) == (b"1", b"4")
    old = EXAMPLES.remove(EXAMPLES.get_field_index("neighbours")).with_metadata(
        {**EXAMPLES.metadata, b"layoutray.version": b"1"}
    )
    shards.write(old.empty_table(), folder, "part-1.parquet")
    with pytest.raises(SchemaError, match="version 1, this program reads version 4; create it again"):
        shards.read(folder, EXAMPLES)


@pytest.mark.usefixtures("server")
def test_an_object_store_is_written_and_read_alike(pages: pa.Table) -> None:
    folder = "s3://scans/shards/pages"
    assert shards.shards(folder) == []
    uri = shards.write(pages, folder, "part-1.parquet")
    shards.write(pages, folder, "part-1.parquet")
    assert shards.shards(folder) == [uri] == [f"{folder}/part-1.parquet"]
    assert shards.read(folder, PAGES).equals(pages)
    assert [(where, table.num_rows) for where, table in shards.read_each(folder, PAGES, ["page"])] == [(uri, 3)]
    assert shards.remove_half_written(folder) == 0
    shards.remove([uri])
    assert shards.shards(folder) == []


@pytest.mark.parametrize("kind", ["pages", "examples"])
def test_hugging_face_datasets_reads_them_without_our_code(
    kind: str, folder: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table = request.getfixturevalue(kind)
    uri = shards.write(table, folder, "part-1.parquet")
    loaded = datasets.load_dataset("parquet", data_files=uri, split="train", cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == table.to_pylist()


@given(st.sampled_from([1, 2, 3, 4, 11]), st.integers(0, 10), st.integers(1, 11))
def test_rows_of_a_shard_are_read_from_its_row_groups(sizes: int, start: int, rows: int) -> None:
    table = codec.pages_table([page(f"d{number}") for number in range(11)], map(str, range(11)))
    rows = min(rows, 11 - start)
    with tempfile.TemporaryDirectory() as folder:
        parts = (table.slice(at, sizes) for at in range(0, 11, sizes))
        uri = shards.write_all(parts, PAGES, folder, "part-one.parquet")
        assert shards.read_rows(uri, start, rows) == table.slice(start, rows)
        scanned = list(shards.scan_shard(uri, PAGES, ["page_id"], 4))
    starts = [sum(part.num_rows for _, part in scanned[:at]) for at in range(len(scanned))]
    assert [first for first, _ in scanned] == starts
    assert pa.concat_tables(part for _, part in scanned) == table.select(["page_id"])


def test_other_shards_are_deleted(tmp_path: Path) -> None:
    for name in ("part-a.parquet", "part-b.parquet", "part-a.jsonl", "part-c.jsonl"):
        shards.write_bytes(b"", str(tmp_path), name)
    assert shards.keep_only(str(tmp_path), {"part-a"}) == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["part-a.jsonl", "part-a.parquet"]
    assert shards.keep_only(str(tmp_path / "none"), {"part-a"}) == 0


def test_a_nullable_column_that_earlier_files_lack_is_null(pages: pa.Table, folder: str) -> None:
    shards.write(pages, folder, "a.parquet")
    shards.write(pages.drop_columns("groups"), folder, "b.parquet")
    assert shards.read(folder, PAGES, ["groups"])["groups"].to_pylist() == [None] * (2 * len(pages))
    shards.write(pages.drop_columns("lines"), folder, "b.parquet")
    with pytest.raises(SchemaError, match=r"does not have the columns \['lines'\]"):
        shards.read(folder, PAGES)


def test_a_full_disk_is_named_with_the_file_and_nothing_half_written_stays(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        folder = str(disk.folder)
        for write in (partial(shards.write_bytes, folder=folder, name="a.png"), partial(piece_by_piece, folder)):
            with pytest.raises(OSError, match=rf"{folder}/a\.png cannot be written: No space left on device"):
                write(bytes(5 * 2**20))
            assert not os.listdir(folder)


def piece_by_piece(folder: str, data: bytes) -> None:
    with shards.writing(folder, "a.png") as stream:
        stream.write(data)
