"""Examples on disk and in a bucket: what is written is read, a block at a time, and damage is reported."""

from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from layoutray.errors import InputError, SchemaError
from layoutray.store import example_files, node_cache
from layoutray.store.example_files import BLOCK_ROWS, ExampleFiles, read_table, write_index, write_shard
from layoutray.store.schema import EXAMPLE_BLOCKS, EXAMPLES
from tests.batching.test_examples import row
from tests.store.test_sources import server  # noqa: F401  (a fixture)


def table(first: int, count: int) -> pa.Table:
    rows = [
        row(number % 40, None) | {"doc_id": f"d{number}", "input_ids": [number] * (number % 5 + 2)}
        for number in range(first, first + count)
    ]
    return pa.Table.from_pylist(rows, schema=EXAMPLES)


def write(folder: str, *tables: pa.Table) -> None:
    blocks = [write_shard(one, folder, f"part-{number}.arrow") for number, one in enumerate(tables)]
    write_index(pa.concat_tables(blocks), folder)


def test_files_are_read_by_blocks_in_their_order(tmp_path: Path) -> None:
    tables = [table(0, 2 * BLOCK_ROWS + 3), table(1000, 1), table(2000, BLOCK_ROWS)]
    write(str(tmp_path), *tables)
    files = ExampleFiles(str(tmp_path))
    together = pa.concat_tables(tables)
    assert files.lengths.tolist() == [len(ids) for ids in together["input_ids"].to_pylist()]
    assert files.starts.tolist() == [0, 256, 512, 515, 516, 772]
    assert [block.num_rows for block in files.read([4, 2, 3])] == [256, 3, 1]
    assert pa.Table.from_batches(files.read([3])) == tables[1]
    assert read_table(str(tmp_path)) == together.combine_chunks()


def test_files_are_arrow_files_that_any_reader_opens(tmp_path: Path) -> None:
    write(str(tmp_path), table(0, 300))
    assert pa.ipc.open_file(tmp_path / "part-0.arrow").read_all() == table(0, 300)


def test_reading_blocks_takes_no_memory(tmp_path: Path) -> None:
    write(str(tmp_path), *[table(0, BLOCK_ROWS)] * 8)
    files = ExampleFiles(str(tmp_path))
    before = pa.total_allocated_bytes()
    blocks = files.read(range(8))
    assert sum(block.nbytes for block in blocks) > 500_000
    assert pa.total_allocated_bytes() - before < 10_000


def test_a_split_without_pages_has_no_examples(tmp_path: Path) -> None:
    files = ExampleFiles(str(tmp_path / "none"))
    assert (files.lengths.tolist(), files.starts.tolist(), files.read([])) == ([], [0], [])


def test_examples_of_an_earlier_version_and_damaged_files_are_refused(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "part-0.parquet").write_bytes(b"")
    with pytest.raises(SchemaError, match=r"has no index.arrow; make the examples again with `layoutray encode`"):
        ExampleFiles(str(old))
    write(str(tmp_path / "cut"), table(0, 300))
    file = tmp_path / "cut/part-0.arrow"
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"cannot be read from part-0.arrow: .* make the examples again"):
        ExampleFiles(str(tmp_path / "cut")).read([1])
    file.unlink()
    with pytest.raises(InputError, match=r"cannot be read from part-0.arrow: .*No such file"):
        ExampleFiles(str(tmp_path / "cut")).read([0])


@pytest.mark.usefixtures("server")
def test_a_bucket_is_read_by_ranges_and_the_node_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(node_cache.FOLDER, str(tmp_path / "cache"))
    write(str(tmp_path / "made"), table(0, 1000))
    pafs.copy_files(str(tmp_path / "made"), "s3://scans/blocks")
    files = ExampleFiles("s3://scans/blocks")
    assert pa.Table.from_batches(files.read([1, 3])) == pa.concat_tables([table(256, 256), table(768, 232)])
    kept = {file.stat().st_size for file in (tmp_path / "cache/ranges").iterdir()}
    assert len(kept) == 3, "the index and two blocks"
    assert sum(kept) < (tmp_path / "made/part-0.arrow").stat().st_size

    pafs.S3FileSystem.from_uri("s3://scans")[0].delete_file("scans/blocks/part-0.arrow")
    assert ExampleFiles("s3://scans/blocks").read([3])[0].num_rows == 232, "from the node"
    with pytest.raises(InputError, match=r"examples of s3://scans/blocks cannot be read from part-0\.arrow"):
        ExampleFiles("s3://scans/blocks").read([2])
    assert example_files.read_table(str(tmp_path / "made")).num_rows == 1000


def test_opening_an_index_takes_no_memory(tmp_path: Path) -> None:
    lengths = pa.LargeListArray.from_arrays([0, 2_000_000], pa.array(range(2_000_000), pa.uint32()))
    columns = {"file": ["part-0.arrow"], "offset": [8], "size": [1], "lengths": lengths}
    write_index(pa.table(columns).cast(EXAMPLE_BLOCKS), str(tmp_path))
    before = pa.total_allocated_bytes()
    files = ExampleFiles(str(tmp_path))
    assert (len(files.lengths), files.starts.tolist()) == (2_000_000, [0, 2_000_000])
    assert pa.total_allocated_bytes() - before < 10_000, "lengths are mapped"
