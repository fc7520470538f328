from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from layoutray.prepare.pieces import pieces_of
from layoutray.store import codec, shards
from tests.jobs import pages


@given(st.lists(st.integers(0, 30), max_size=6), st.integers(1, 9))
def test_pieces_hold_every_row_once_in_its_order(lengths: list[int], size: int) -> None:
    made = list(pieces_of({str(number): length for number, length in enumerate(lengths)}, size))
    rows = [(run["shard"], run["start"] + at) for piece in made for run in piece.rows for at in range(run["rows"])]
    assert rows == [(str(number), at) for number, length in enumerate(lengths) for at in range(length)]
    assert [sum(run["rows"] for run in piece.rows) for piece in made[:-1]] == [size] * max(len(made) - 1, 0)


def test_a_piece_is_read_from_its_shards(tmp_path: Path) -> None:
    table = codec.pages_table(pages(7), map(str, range(7)))
    lengths = {
        shards.write(part, str(tmp_path), f"part-{number}.parquet"): part.num_rows
        for number, part in enumerate((table.slice(0, 3), table.slice(3)))
    }
    read = [piece.read()["page_id"].to_pylist() for piece in pieces_of(lengths, 5)]
    assert read == [["0", "1", "2", "3", "4"], ["5", "6"]]
