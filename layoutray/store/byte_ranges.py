"""Ranges of bytes of files: mapped into memory, or fetched from an object store and kept on this node."""

import mmap
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from layoutray.store import node_cache, sources

_PARALLEL_READS = 16
"""Range reads at a time: reading from an object store is mostly waiting."""


class ByteRange(NamedTuple):
    """`size` bytes of a file of the folder, from `offset` on."""

    file: str
    offset: int
    size: int


class Folder(Protocol):
    """Reads files of one folder. All methods raise OSError if a file cannot be read."""

    def whole(self, file: str) -> pa.Buffer:
        """The content of a file."""
        ...

    def ranges(self, wanted: Iterable[ByteRange]) -> list[pa.Buffer]:
        """The bytes of each range."""
        ...


def open_folder(uri: str, version_file: str) -> Folder:
    """The files of a local folder or of one in an object store.

    Args:
        version_file: the file that changes whenever the folder's content changes.
    """
    local = sources.local_path(uri)
    return _MappedFolder(local) if local else _FetchedFolder(uri, version_file)


class _MappedFolder:
    def __init__(self, folder: Path) -> None:
        self._whole = cache(lambda file: _mapped(folder / file))

    def whole(self, file: str) -> pa.Buffer:
        return self._whole(file)

    def ranges(self, wanted: Iterable[ByteRange]) -> list[pa.Buffer]:
        return [self._whole(one.file).slice(one.offset, one.size) for one in wanted]


class _FetchedFolder:
    def __init__(self, uri: str, version_file: str) -> None:
        self._uri = uri
        self._files, self._path = sources.filesystem(uri)
        info = self._files.get_file_info(sources.join(self._path, version_file))
        self._version = f"{uri} {info.size} {info.mtime_ns}"
        self._cache = node_cache.of_this_node()
        self._open = cache(lambda file: self._files.open_input_file(sources.join(self._path, file)))
        self._pool = ThreadPoolExecutor(_PARALLEL_READS)

    def whole(self, file: str) -> pa.Buffer:
        return self._range(ByteRange(file, 0, self._open(file).size()))

    def ranges(self, wanted: Iterable[ByteRange]) -> list[pa.Buffer]:
        return list(self._pool.map(self._range, wanted))

    def _range(self, one: ByteRange) -> pa.Buffer:
        fetched = self._cache.file(f"{self._version} {one}", lambda: self._open(one.file).read_at(one.size, one.offset))
        return _mapped(fetched)


def _mapped(file: Path) -> pa.Buffer:
    """The content of a file, mapped into memory. Pages that were read count as the system's cache, not as ours."""
    with file.open("rb") as opened:
        return pa.py_buffer(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
