from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from layoutray.cluster import page_slices
from layoutray.store import codec, shards
from tests.jobs import pages


@given(st.lists(st.integers(0, 30), max_size=6), st.integers(1, 9))
def test_batches_hold_every_row_once_in_its_order(lengths: list[int], size: int) -> None:
    made = list(page_slices.slices({str(number): length for number, length in enumerate(lengths)}, size))
    rows = [(run["shard"], run["start"] + at) for batch in made for run in batch for at in range(run["rows"])]
    assert rows == [(str(number), at) for number, length in enumerate(lengths) for at in range(length)]
    assert [sum(run["rows"] for run in batch) for batch in made[:-1]] == [size] * max(len(made) - 1, 0)


def test_a_batch_is_read_from_its_shards(tmp_path: Path) -> None:
    table = codec.pages_table(pages(7), map(str, range(7)))
    lengths = {
        shards.write(part, str(tmp_path), f"part-{number}.parquet"): part.num_rows
        for number, part in enumerate((table.slice(0, 3), table.slice(3)))
    }
    read = [page_slices.read(batch)["page_id"].to_pylist() for batch in page_slices.slices(lengths, 5)]
    assert read == [["0", "1", "2", "3", "4"], ["5", "6"]]
