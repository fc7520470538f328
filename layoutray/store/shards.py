"""Parquet shards that are either whole or not there, in a folder that is local or in an object store."""

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from layoutray.errors import SchemaError
from layoutray.store import sources
from layoutray.store.schema import check

_HALF_WRITTEN = ".part"
"""Ending of hidden names: what a killed writer leaves behind is never read."""
_FILE = "__filename"
"""Arrow's own name of the column that says where a row is from."""
_TOGETHER = 512
"""Shards of one Arrow data set, which keeps what it has learnt of each as long as it is there."""
_AT_ONCE = 32
"""Shards whose schemas are asked for together: an object store takes its time to answer, not its processor's."""


def part_name(ids: Iterable[str]) -> str:
    """Name of the shard that holds the rows `ids`: the same rows always go to the same name, so writing again replaces."""
    return f"part-{hashlib.sha256(chr(10).join(sorted(ids)).encode()).hexdigest()[:20]}.parquet"


def write(table: pa.Table, folder: str, name: str) -> str:
    """Write `table` as `folder/name`, replacing it as a whole; returns its URI."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd")
    return write_bytes(buffer.getvalue(), folder, name)


def write_all(tables: Iterable[pa.Table], schema: pa.Schema, folder: str, name: str) -> str:
    """Like `write`, for tables that come one after the other and are too large together for memory."""
    files, path = sources.filesystem(folder)
    files.create_dir(path, recursive=True)
    hidden = _hidden(path, name)
    with files.open_output_stream(hidden) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)
    files.move(hidden, sources.join(path, name))
    return sources.join(folder, name)


def write_bytes(data: pa.Buffer | bytes, folder: str, name: str) -> str:
    """Write a file that appears under its name only when it is complete; returns its URI."""
    write_together({name: data}, folder)
    return sources.join(folder, name)


def write_together(contents: Mapping[str, pa.Buffer | bytes], folder: str) -> None:
    """Write files that belong together, replacing those of before: while the last is there, all are there, and of one making.

    Whoever is killed while they are written leaves those of before; within a moment at the end, files without the last.
    """
    files, path = sources.filesystem(folder)
    files.create_dir(path, recursive=True)
    hidden = {name: _hidden(path, name) for name in contents}
    for name, data in contents.items():
        with files.open_output_stream(hidden[name]) as stream:
            stream.write(data)
    last = sources.join(path, [*contents][-1])
    if len(contents) > 1 and files.get_file_info(last).type == pafs.FileType.File:
        files.delete_file(last)
    for name in contents:
        files.move(hidden[name], sources.join(path, name))


def shards(folder: str) -> list[str]:
    """URIs of the shards of a data set, sorted; empty when the folder is not there."""
    return [uri for uri in sources.list_files(folder) if uri.endswith(".parquet")]


def read(
    folder: str,
    schema: pa.Schema,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,  # noqa: A002
) -> pa.Table:
    """The rows of a data set, or some of their columns.

    Raises:
        SchemaError: when there are no shards, or they hold something else than `schema`.
    """
    return pa.concat_tables(
        part.to_table(columns=columns and list(columns), filter=filter) for part in _datasets(folder, schema)
    )


def scan(
    folder: str,
    schema: pa.Schema,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,  # noqa: A002
) -> Iterator[pa.Table]:
    """Like `read`, a batch of rows at a time, for data sets larger than memory."""
    for part in _datasets(folder, schema):
        for batch in part.to_batches(columns=columns and list(columns), filter=filter, batch_size=1024):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])


def read_each(folder: str, schema: pa.Schema, columns: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """URI and columns of each shard that has rows; nothing where there is no shard. A shard may be replaced once it is handed out.

    Raises:
        SchemaError: when a shard holds something else than `schema`.
    """
    uris = {sources.filesystem(uri)[1]: uri for uri in shards(folder)}
    for part in _datasets(folder, schema) if uris else ():
        batches = (batch for batch in part.to_batches(columns=[*columns, _FILE]) if batch.num_rows)
        for path, of_shard in groupby(batches, lambda batch: str(batch[_FILE][0])):
            yield uris[path], pa.Table.from_batches(of_shard).select(list(columns))


def read_shard(uri: str) -> pa.Table:
    """All rows of one shard, in their order."""
    files, path = sources.filesystem(uri)
    return pq.read_table(path, filesystem=files)


def remove(uris: Iterable[str]) -> None:
    """Delete shards."""
    for uri in uris:
        files, path = sources.filesystem(uri)
        files.delete_file(path)


def remove_half_written(folder: str) -> int:
    """Delete what killed writers left behind; returns how many files. Only while nobody writes there."""
    files, path = sources.filesystem(folder)
    found = files.get_file_info(pafs.FileSelector(path, allow_not_found=True))
    leftover = [
        info.path for info in found if info.base_name.startswith(".") and info.base_name.endswith(_HALF_WRITTEN)
    ]
    for hidden in leftover:
        files.delete_file(hidden)
    return len(leftover)


def _hidden(path: str, name: str) -> str:
    return sources.join(path, f".{name}.{uuid.uuid4().hex}{_HALF_WRITTEN}")


def _datasets(folder: str, schema: pa.Schema) -> Iterator[pads.Dataset]:
    """The shards in their order, so many together."""
    found = shards(folder)
    if not found:
        raise SchemaError(f"{folder} has no .parquet shards; point to a data set that `layoutray` has written")
    files, _ = sources.filesystem(folder)
    paths = [sources.filesystem(uri)[1] for uri in found]
    parts = [slice(start, start + _TOGETHER) for start in range(0, len(paths), _TOGETHER)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for part in parts:
            for uri, there in zip(
                found[part], pool.map(partial(pq.read_schema, filesystem=files), paths[part]), strict=True
            ):
                check(there, schema, uri)
    for part in parts:
        yield pads.dataset(paths[part], schema=schema, filesystem=files, format="parquet")
