"""Pages of a data set in batches for workers. A batch names slices of shards, and the worker reads them itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from layoutray.store import shards


def read(wanted: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The rows of slices; see `slices`."""
    return pa.concat_tables(shards.read_shard(part["shard"]).slice(part["start"], part["rows"]) for part in wanted)


def slices(lengths: Mapping[str, int], size: int) -> Iterator[list[dict[str, Any]]]:
    """Batches of `size` rows, each as a list of slices: shard, first row (`start`) and number of rows (`rows`).

    Args:
        lengths: number of rows of each shard, by URI.
    """
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
