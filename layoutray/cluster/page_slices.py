"""Pages of a data set in batches for workers. A batch names slices of shards, and the worker reads them itself.

A batch is a table of one row, because Ray Data requires a batch size for workers with GPUs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from layoutray.store import shards


def batches(lengths: Mapping[str, int], size: int) -> list[pa.Table]:
    """The rows of all shards in batches of `size` rows, for `batch_size=1`.

    A batch has the column `slices`: a list of shard, first row and number of rows.

    Args:
        lengths: number of rows of each shard, by URI.
    """
    return [pa.table({"slices": [part]}) for part in slices(lengths, size)]


def read(batch: pa.Table) -> pa.Table:
    """The rows of the slices of a batch."""
    return read_slices(batch["slices"][0].as_py())


def read_slices(wanted: Sequence[Mapping[str, Any]]) -> pa.Table:
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
