"""Parquet shards in a local folder or an object store. A shard appears under its name only when it is complete."""

import errno
import hashlib
import os
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Container, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from layoutray.errors import SchemaError
from layoutray.store import sources
from layoutray.store.schema import check

if TYPE_CHECKING:
    import pyarrow.dataset as pads

_HALF_WRITTEN = ".part"
"""Ending of the hidden name of a file that is being written. It lacks the own name, which may have the full length."""
_FILE = "__filename"
"""Arrow's name for the column with the file of each row."""
_SHARDS_PER_DATASET = 512
"""An Arrow dataset keeps the metadata of all its shards in memory, so each one gets a limited number of them."""
_PARALLEL_SCHEMA_READS = 32
"""Threads that read schemas: reading one from an object store is mostly waiting."""


def part_name(ids: Iterable[str]) -> str:
    """Name of the shard with the rows `ids`. The same rows have the same name, so a second write replaces the first."""
    return f"part-{hashlib.sha256(chr(10).join(sorted(ids)).encode()).hexdigest()[:20]}.parquet"


def write(table: pa.Table, folder: str, name: str) -> str:
    """Write `table` as `folder/name`, replacing that file as a whole. Returns its URI."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd")
    return write_bytes(buffer.getvalue(), folder, name)


def write_all(tables: Iterable[pa.Table], schema: pa.Schema, folder: str, name: str) -> str:
    """Write several tables as one shard, one after the other, so that only one is in memory. Returns its URI."""
    with writing(folder, name) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)
    return sources.join(folder, name)


@contextmanager
def writing(folder: str, name: str) -> Generator[pa.NativeFile]:
    """Write a file piece by piece. It replaces an older one at the end of the block; if that raises, nothing stays."""
    files, path = sources.filesystem(folder)
    was_there = sources.exists(folder)
    files.create_dir(path, recursive=True)
    hidden = _hidden(path)
    try:
        with _named(folder, name), files.open_output_stream(hidden) as stream:
            yield stream
    except BaseException:
        with suppress(OSError):
            files.delete_file(hidden)
            if not was_there and (local := sources.local_path(folder)):
                local.rmdir()
        raise
    files.move(hidden, sources.join(path, name))


def write_bytes(data: pa.Buffer | bytes, folder: str, name: str) -> str:
    """Write a file, replacing it as a whole. Returns its URI."""
    write_together({name: data}, folder)
    return sources.join(folder, name)


def write_file(data: bytes, uri: str) -> str:
    """Write a file at a path or address, replacing it as a whole. Returns its URI."""
    folder, _, name = sources.absolute(uri).rpartition("/")
    return write_bytes(data, folder, name)


def write_together(contents: Mapping[str, pa.Buffer | bytes], folder: str) -> None:
    """Replace several files that belong together. The last one is written last: if it exists, the set is complete.

    A process that is killed before the final renames leaves the old files. During the renames, the last file
    is missing.
    """
    files, path = sources.filesystem(folder)
    files.create_dir(path, recursive=True)
    hidden = {name: _hidden(path) for name in contents}
    try:
        for name, data in contents.items():
            with _named(folder, name), files.open_output_stream(hidden[name]) as stream:
                stream.write(data)
    except BaseException:
        for one in hidden.values():
            with suppress(OSError):
                files.delete_file(one)
        raise
    last = sources.join(path, [*contents][-1])
    if len(contents) > 1 and files.get_file_info(last).type == pafs.FileType.File:
        files.delete_file(last)
    for name in contents:
        files.move(hidden[name], sources.join(path, name))


@contextmanager
def _named(folder: str, name: str) -> Generator[None]:
    """Add the file to the error of a full disk, which names none."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        place = sources.join(folder, name)
        raise OSError(error.errno, f"{place} cannot be written: {os.strerror(error.errno)}; free space") from error


def shards(folder: str) -> list[str]:
    """URIs of the shards in `folder`, sorted; empty if there is no such folder."""
    return [uri for uri in sources.list_files(folder) if uri.endswith(".parquet")]


def read(
    folder: str,
    schema: pa.Schema,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,  # noqa: A002
) -> pa.Table:
    """Rows of a folder of shards. Raises SchemaError if there are no shards, or they do not have `schema`."""
    return pa.concat_tables(
        part.to_table(columns=columns and list(columns), filter=filter) for part in _datasets(folder, schema)
    )


def scan(
    folder: str,
    schema: pa.Schema,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,  # noqa: A002
) -> Iterator[pa.Table]:
    """Like `read`, but one batch of rows at a time, for folders larger than memory."""
    for part in _datasets(folder, schema):
        for batch in part.to_batches(columns=columns and list(columns), filter=filter, batch_size=1024):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])


def read_each(folder: str, schema: pa.Schema, columns: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """URI and columns of each shard that has rows; the caller may then replace it. Raises SchemaError as `read`."""
    uris = {sources.filesystem(uri)[1]: uri for uri in shards(folder)}
    for part in _datasets(folder, schema) if uris else ():
        batches = (batch for batch in part.to_batches(columns=[*columns, _FILE]) if batch.num_rows)
        for path, shard_batches in groupby(batches, lambda batch: str(batch[_FILE][0])):
            yield uris[path], pa.Table.from_batches(shard_batches).select(list(columns))


def existing(folder: str) -> list[str]:
    """URIs of the shards in `folder`, sorted. Raises SchemaError if there are none."""
    uris = shards(folder)
    if not uris:
        raise SchemaError(f"{folder} has no .parquet shards; give a data set that `layoutray` has written")
    return uris


def scan_shard(uri: str, schema: pa.Schema, columns: Sequence[str], rows: int) -> Iterator[tuple[int, pa.Table]]:
    """Columns of a shard, `rows` rows at a time, with the number of the first one. Raises SchemaError as `read`."""
    files, path = sources.filesystem(uri)
    start = 0
    with pq.ParquetFile(path, filesystem=files) as shard:
        check(shard.schema_arrow, schema, uri)
        for batch in shard.iter_batches(rows, columns=list(columns)):
            yield start, pa.Table.from_batches([batch])
            start += batch.num_rows


def read_shard(uri: str) -> pa.Table:
    """All rows of one shard, in order."""
    files, path = sources.filesystem(uri)
    return pq.read_table(path, filesystem=files)


def read_rows(uri: str, start: int, rows: int) -> pa.Table:
    """`rows` rows of one shard from row `start`. Only their row groups are read."""
    files, path = sources.filesystem(uri)
    with pq.ParquetFile(path, filesystem=files) as shard:
        ends = [*accumulate(shard.metadata.row_group(group).num_rows for group in range(shard.num_row_groups))]
        first, last = bisect_right(ends, start), bisect_left(ends, start + rows)
        table = shard.read_row_groups([*range(first, last + 1)])
    return table.slice(start - (ends[first - 1] if first else 0), rows)


def keep_only(folder: str, names: Container[str]) -> int:
    """Delete the files of `folder` whose names without ending are not in `names`. Returns their number."""
    others = [uri for uri in sources.list_files(folder) if stem(uri) not in names]
    remove(others)
    return len(others)


def stem(uri: str) -> str:
    """The name of a file without folder and ending."""
    return uri.rpartition("/")[2].partition(".")[0]


def remove(uris: Iterable[str]) -> None:
    """Delete files, those of them that exist."""
    for uri in uris:
        files, path = sources.filesystem(uri)
        with suppress(FileNotFoundError):
            files.delete_file(path)


def remove_half_written(folder: str) -> int:
    """Delete the half-written files of killed processes. Returns their number. Only while nothing writes there."""
    files, path = sources.filesystem(folder)
    entries = files.get_file_info(pafs.FileSelector(path, allow_not_found=True))
    leftover = [
        info.path for info in entries if info.base_name.startswith(".") and info.base_name.endswith(_HALF_WRITTEN)
    ]
    for hidden in leftover:
        files.delete_file(hidden)
    return len(leftover)


def _hidden(path: str) -> str:
    return sources.join(path, f".{uuid.uuid4().hex}{_HALF_WRITTEN}")


def _datasets(folder: str, schema: pa.Schema) -> "Iterator[pads.Dataset]":
    """Arrow datasets of the shards in order, each with a limited number of shards."""
    import pyarrow.dataset as pads  # imports pandas, which takes 0.3 s

    uris = existing(folder)
    files, _ = sources.filesystem(folder)
    paths = [sources.filesystem(uri)[1] for uri in uris]
    parts = [slice(start, start + _SHARDS_PER_DATASET) for start in range(0, len(paths), _SHARDS_PER_DATASET)]
    read_schema = partial(pq.read_schema, filesystem=files)
    with ThreadPoolExecutor(_PARALLEL_SCHEMA_READS) as pool:
        for part in parts:
            for uri, shard_schema in zip(uris[part], pool.map(read_schema, paths[part]), strict=True):
                check(shard_schema, schema, uri)
    for part in parts:
        yield pads.dataset(paths[part], schema=schema, filesystem=files, format="parquet")
