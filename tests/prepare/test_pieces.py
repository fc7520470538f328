from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from layoutray.prepare.pieces import pieces_of
from layoutray.store import codec, shards
from tests.jobs import pages


@given(st.lists(st.integers(0, 30), max_size=6), st.integers(1, 9))
def test_pieces_hold_every_row_of_the_runs_once_in_its_order(lengths: list[int], size: int) -> None:
    runs = {str(number): [(0, length), (length + 2, length + 3)] for number, length in enumerate(lengths)}
    made = list(pieces_of(runs, size))
    rows = [(run["shard"], run["start"] + at) for piece in made for run in piece.rows for at in range(run["rows"])]
    assert rows == [(shard, at) for shard, of_shard in runs.items() for run in of_shard for at in range(*run)]
    assert [sum(run["rows"] for run in piece.rows) for piece in made[:-1]] == [size] * max(len(made) - 1, 0)


def test_a_piece_is_read_from_its_shards(tmp_path: Path) -> None:
    table = codec.pages_table(pages(7), map(str, range(7)))
    runs = {
        shards.write(part, str(tmp_path), f"part-{number}.parquet"): [(0, part.num_rows)]
        for number, part in enumerate((table.slice(0, 3), table.slice(3)))
    }
    read = [piece.read()["page_id"].to_pylist() for piece in pieces_of(runs, 5)]
    assert read == [["0", "1", "2", "3", "4"], ["5", "6"]]
