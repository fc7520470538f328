"""The EXAMPLES of one split on disk: few large files, which are read in blocks of rows, and an index of the blocks.

| file | content |
| --- | --- |
| `part-….arrow` | EXAMPLES as an Arrow IPC file without compression; each of its record batches is a block |
| `index.arrow` | EXAMPLE_BLOCKS: place of each block, and the number of tokens of each of its examples |

A block of a local file is mapped into memory. A block in an object store is one range read, and the node keeps a copy
(`node_cache`).
"""

import mmap
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from layoutray.errors import InputError, SchemaError
from layoutray.store import node_cache, shards, sources
from layoutray.store.schema import EXAMPLE_BLOCKS, EXAMPLES, check

BLOCK_ROWS = 256
_INDEX = "index.arrow"
_PARALLEL_READS = 16
"""Range reads at a time: reading from an object store is mostly waiting."""


def write_shard(table: pa.Table, folder: str, name: str) -> pa.Table:
    """Write EXAMPLES as the file `name`, and return the EXAMPLE_BLOCKS rows of its blocks."""
    stream = pa.BufferOutputStream()
    blocks: list[dict[str, object]] = []
    with pa.ipc.new_file(stream, EXAMPLES) as writer:
        for batch in table.combine_chunks().to_batches(max_chunksize=BLOCK_ROWS):
            writer.write_batch(batch)
            size = pa.ipc.get_record_batch_size(batch)
            lengths = np.diff(batch.column("input_ids").offsets.to_numpy())
            blocks.append({"file": name, "offset": stream.tell() - size, "size": size, "lengths": lengths})
    shards.write_bytes(stream.getvalue(), folder, name)
    return pa.Table.from_pylist(blocks, schema=EXAMPLE_BLOCKS)


def write_index(blocks: pa.Table, folder: str) -> None:
    """Write the index of all files of `folder` as one record batch; the order of `blocks` is that of the examples."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_file(stream, EXAMPLE_BLOCKS) as writer:
        writer.write_table(blocks.combine_chunks())
    shards.write_bytes(stream.getvalue(), folder, _INDEX)


def read_table(folder: str) -> pa.Table:
    """All EXAMPLES of a split, in order. Raises SchemaError and InputError like `ExampleFiles`."""
    files = ExampleFiles(folder)
    return pa.Table.from_batches(files.read(range(len(files.starts) - 1)), EXAMPLES)


class ExampleFiles:
    """The examples of one split, in blocks of at most BLOCK_ROWS rows.

    Attributes:
        lengths: number of tokens of each example; mapped into memory.
        starts: number of the first example of each block, and at the end the number of all examples.
    """

    lengths: NDArray[np.uint32]
    starts: NDArray[np.int64]

    def __init__(self, folder: str) -> None:
        """Open a split; without a folder it has no examples. Raises SchemaError for a folder of another version."""
        self._folder = folder
        self._index = pa.RecordBatch.from_pylist([], EXAMPLE_BLOCKS)
        if sources.exists(sources.join(folder, _INDEX)):
            local = sources.local_path(folder)
            self._files = _MappedFolder(local) if local else _FetchedFolder(folder)
            reader = pa.ipc.open_file(self._files.whole(_INDEX))
            check(reader.schema, EXAMPLE_BLOCKS, folder)
            self._index = reader.get_batch(0)
        elif any(sources.list_files(folder)):
            raise SchemaError(f"{folder} has no {_INDEX}; make the examples again with `layoutray encode`")
        lengths = self._index.column("lengths")
        self.lengths, self.starts = lengths.values.to_numpy(), lengths.offsets.to_numpy()

    def read(self, numbers: Iterable[int]) -> list[pa.RecordBatch]:
        """The blocks with these numbers, as EXAMPLES. Raises InputError if one cannot be read."""
        rows = self._index.select(["file", "offset", "size"]).take(pa.array(numbers, pa.int64())).to_pylist()
        try:
            buffers = self._files.ranges(_ByteRange(**row) for row in rows) if rows else []
            return [pa.ipc.read_record_batch(pa.ipc.read_message(buffer), EXAMPLES) for buffer in buffers]
        except (OSError, pa.ArrowException) as error:
            names = ", ".join(sorted({row["file"] for row in rows}))
            raise InputError(
                f"examples of {self._folder} cannot be read from {names}: {error}; if a file is damaged, make the "
                "examples again with `layoutray encode`"
            ) from error


class _ByteRange(NamedTuple):
    """`size` bytes of a file of the folder, from `offset` on."""

    file: str
    offset: int
    size: int


class _MappedFolder:
    """Files of a local folder, mapped into memory. All methods raise OSError if a file cannot be read."""

    def __init__(self, folder: Path) -> None:
        self._whole = cache(lambda file: _mapped(folder / file))

    def whole(self, file: str) -> pa.Buffer:
        return self._whole(file)

    def ranges(self, wanted: Iterable[_ByteRange]) -> list[pa.Buffer]:
        return [self._whole(one.file).slice(one.offset, one.size) for one in wanted]


class _FetchedFolder:
    """The same for a folder in an object store. What is fetched is kept on this node, until the index changes."""

    def __init__(self, uri: str) -> None:
        files, path = sources.filesystem(uri)
        info = files.get_file_info(sources.join(path, _INDEX))
        self._version = f"{uri} {info.size} {info.mtime_ns}"
        self._cache = node_cache.of_this_node()
        self._open = cache(lambda file: files.open_input_file(sources.join(path, file)))
        self._pool = ThreadPoolExecutor(_PARALLEL_READS)

    def whole(self, file: str) -> pa.Buffer:
        return self._range(_ByteRange(file, 0, self._open(file).size()))

    def ranges(self, wanted: Iterable[_ByteRange]) -> list[pa.Buffer]:
        return list(self._pool.map(self._range, wanted))

    def _range(self, one: _ByteRange) -> pa.Buffer:
        fetched = self._cache.file(f"{self._version} {one}", lambda: self._open(one.file).read_at(one.size, one.offset))
        return _mapped(fetched)


def _mapped(file: Path) -> pa.Buffer:
    """The content of a file, mapped into memory. Pages that were read count as the system's cache, not as ours."""
    with file.open("rb") as opened:
        return pa.py_buffer(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
