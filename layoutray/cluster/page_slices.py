"""Pages of a data set in batches for workers. A batch names slices of shards, and the worker reads them itself."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from layoutray.store import shards


def batches(lengths: Mapping[str, int], size: int) -> list[pa.Table]:
    """The rows of all shards in batches of `size` rows. A row of a batch is a slice: shard, first row, number of rows.

    Args:
        lengths: number of rows of each shard, by URI.
    """
    return [pa.Table.from_pylist(slices) for slices in _slices(lengths, size)]


def read(batch: pa.Table) -> pa.Table:
    """The rows of the slices of a batch."""
    return pa.concat_tables(
        shards.read_shard(part["shard"]).slice(part["start"], part["rows"]) for part in batch.to_pylist()
    )


def _slices(lengths: Mapping[str, int], size: int) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    room = size
    for uri, length in lengths.items():
        start = 0
        while start < length:
            rows = min(room, length - start)
            batch.append({"shard": uri, "start": start, "rows": rows})
            start, room = start + rows, room - rows
            if not room:
                yield batch
                batch, room = [], size
    if batch:
        yield batch
