"""Every document is in one range, and the ranges are in order."""

import hashlib

import pyarrow as pa
import pytest

from layoutray.store.id_ranges import id_ranges, in_range

IDS = sorted(hashlib.sha256(str(number).encode()).hexdigest() for number in range(1000))


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_each_id_is_in_one_range_and_ranges_are_even(count: int) -> None:
    table = pa.table({"doc_id": ["", *IDS, "x"]})
    parts = [table.filter(in_range(*bounds))["doc_id"].to_pylist() for bounds in id_ranges(count)]
    assert [doc_id for part in parts for doc_id in part] == ["", *IDS, "x"]
    assert max(map(len, parts)) < 2 * 1002 / count + 20
