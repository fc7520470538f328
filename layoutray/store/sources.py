"""Files by URI: a local path, or an address in an object store (`s3://bucket/key`), read by Arrow's file systems.

Credentials and endpoints come from the standard `AWS_*` variables (`AWS_ENDPOINT_URL` for servers other than AWS).
boto3 lists buckets, a thousand keys at a time, because Arrow keeps a whole listing in memory.

Arrow accepts only UTF-8 names, but local file names need not be UTF-8. So local files are listed and opened by Python.
A name that is not UTF-8 becomes a `file://` URI with percent escapes, which every function here accepts.

`read_bytes` also accepts `data:` URIs, for content without a file of its own, such as one picture's part of a large
file.
"""

import functools
import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO
from urllib.parse import quote, unquote, unquote_to_bytes

import pyarrow as pa
import pyarrow.fs as pafs

from layoutray.errors import DocumentError, InputError, Reason
from layoutray.store import bucket_keys

LONGEST_NAME = 255
"""Bytes of a file name on the usual file systems."""
_LONGEST_PATH = 4096
_IN_BUCKET = re.compile(r"s3://([\w.-]+)((?:/(?:[\w.~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?)", re.ASCII)
"""Bucket and key."""
_MORE = re.compile(r"\w+://(?:[^/]*@|.*[?#])", re.S)
"""An address with credentials or options, such as `?endpoint_override=…`, which choose a server."""
_MIN_AGE = 60.0  # seconds
_DATA = re.compile(r"data:[^,;]*,((?:[\x21-\x24\x26-\x7e]|%[0-9A-Fa-f]{2})*)")


def filesystem(uri: str) -> tuple[pafs.FileSystem, str]:
    """The Arrow file system of `uri`, and the path in it. Raises InputError if `uri` is not a valid address."""
    local = local_path(uri)
    if local is None:
        if _MORE.match(uri):
            raise InputError(
                f"{uri!r} is not a valid address: it has credentials or options; set AWS_ENDPOINT_URL, AWS_REGION and "
                "related variables instead; a ? in a name is %3F, # is %23"
            )
        try:
            if path := path_in_bucket(uri):
                return _bucket(path.partition("/")[0], _store_variables()), path
            return pafs.FileSystem.from_uri(uri)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise InputError(
                f"{uri!r} is not a valid address: {error}; give a folder, or s3://BUCKET/PATH with special "
                "characters escaped (a blank as %20)"
            ) from error
    return pafs.LocalFileSystem(), str(local)


def check_address(uri: str) -> None:
    """Raise InputError if `uri` is not a valid address, without asking its server."""
    if path_in_bucket(uri) is None:
        filesystem(uri)


def path_in_bucket(uri: str) -> str | None:
    """`BUCKET/KEY` of an `s3://` address, without escapes; None for any other. Raises UnicodeDecodeError."""
    in_bucket = _IN_BUCKET.fullmatch(uri)
    return unquote(in_bucket[1] + in_bucket[2], errors="strict").rstrip("/") if in_bucket else None


def local_path(uri: str) -> Path | None:
    """The absolute local path of `uri`; None for an address in an object store."""
    if uri.startswith("file://"):
        return Path(os.fsdecode(unquote_to_bytes(uri.removeprefix("file://"))))
    return None if "://" in uri else _absolute(Path(uri))


def local_uri(path: Path) -> str:
    """URI of a local file: its path, or a `file://` URI if the path is not UTF-8."""
    raw = os.fsencode(path)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "file://" + quote(raw)


def data_uri(media_type: str, data: bytes) -> str:
    """A URI that contains `data`, in percent escapes (RFC 2397)."""
    return f"data:{media_type},{quote(data, safe=':,')}"


def join(root: str | Path, *parts: str) -> str:
    """`root` with `parts` appended. Works for paths and addresses."""
    return "/".join((str(root).rstrip("/"), *parts))


class Part:
    """An attribute of a class with a `folder`: the path or address of the part of the folder with this name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, _: object = None) -> str:
        return join(owner.folder, self._name)


def name(uri: str) -> str:
    """The last part of a path or address."""
    return uri.rstrip("/").rpartition("/")[2]


def absolute(uri: str) -> str:
    """`uri` as an absolute path or address, for processes with another working folder, such as Ray's workers.

    A path has no `..`, so that two paths of one file are equal unless they lead through a link.
    """
    return uri if "://" in uri or uri.startswith("models:/") else str(_absolute(Path(uri)))


def exists(uri: str) -> bool:
    """Whether the file or folder exists."""
    local = local_path(uri)
    if local is not None:
        too_long = (
            len(os.fsencode(local)) >= _LONGEST_PATH or len(max(map(os.fsencode, local.parts), key=len)) > LONGEST_NAME
        )
        return not too_long and local.exists()
    files, path = filesystem(uri)
    return files.get_file_info(path).type != pafs.FileType.NotFound


def list_files(root: str) -> Iterator[str]:
    """URIs of all files below `root` (or `root` itself if it is a file), sorted. Names with a leading dot are skipped.

    Links are followed. Broken links are listed, so that opening them reports an error. Pipes and devices are skipped.

    Memory holds the names of one local folder and its parents, or a thousand keys of a bucket. For other object stores
    it holds the whole listing.

    Raises:
        InputError: if a folder or bucket cannot be listed, or there is no such bucket.
    """
    local = local_path(root)
    if local is None:
        yield from (uri for uri, _, _ in _remote_files(root))
    else:
        yield from map(local_uri, _local_files(local))


def sizes(root: str) -> Iterator[tuple[str, int]]:
    """The files of `list_files`, each with its size in bytes."""
    return ((uri, size) for uri, size, _ in _sizes_and_times(root))


def stamps(root: str) -> Iterator[tuple[str, str]]:
    """The files of `list_files`, each with a stamp of its size and the time of its last change.

    Broken links are left out. So are files that have changed in the last minute: if they change again, their time may
    stay the same, because file systems store it with limited precision.
    """
    latest = (time.time() - _MIN_AGE) * 1e9
    files = _sizes_and_times(root)
    return ((uri, f"{size}-{changed}") for uri, size, changed in files if changed and changed < latest)


def read_bytes(uri: str, most: int | None = None) -> bytes:
    """Content of a file or a `data:` URI.

    Args:
        most: bytes that a file or object may have; None is no limit.

    Raises:
        DocumentError: not_found, unreadable, too_large, or unreachable (the object store failed to answer); stage
            `open`.
    """
    if uri.startswith("data:"):
        return _data_of(uri)
    local = local_path(uri)
    try:
        with _open_file(local) if local is not None else _open_object(uri) as stream:
            data: bytes = stream.read() if most is None else stream.read(most + 1)
    except FileNotFoundError as error:
        raise DocumentError(Reason.NOT_FOUND, f"{uri} does not exist", stage="open") from error
    except OSError as error:
        # Arrow raises OSError for every failure of an object store. Refused access does not pass; other failures may.
        refused = local is not None or "ACCESS_DENIED" in str(error)
        reason = Reason.UNREADABLE if refused else Reason.UNREACHABLE
        raise DocumentError(reason, f"{uri} cannot be read: {error.strerror or error}", stage="open") from error
    if most is not None and len(data) > most:
        raise DocumentError(Reason.TOO_LARGE, f"{uri} has more than the allowed {most} bytes", stage="open")
    return data


def remove_folder(uri: str) -> None:
    """Delete a folder and its content, if it exists."""
    files, path = filesystem(uri)
    if files.get_file_info(path).type == pafs.FileType.Directory:
        files.delete_dir(path)


def content_id(data: bytes) -> str:
    """Identity of a document: SHA-256 of its bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _absolute(path: Path) -> Path:
    """`a/link/../b` is not `a/b`, so that a path with `..` is resolved; others keep their links, as users know them."""
    return path.resolve() if ".." in path.parts else path.absolute()


def _open_file(path: Path) -> BinaryIO:
    """A file to read. Raises OSError for pipes and devices, which may have no end."""
    stream = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if not S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError("it is not a regular file")
    return stream


def _open_object(uri: str) -> Any:
    files, path = filesystem(uri)
    return files.open_input_file(path)


@functools.lru_cache(maxsize=16)
def _bucket(name: str, variables: tuple[tuple[str, str], ...]) -> pafs.FileSystem:
    # Cached because creating a file system takes 20 ms of a core and opens connections. `variables` is part of the
    # cache key only: Arrow reads the environment itself.
    return pafs.FileSystem.from_uri(f"s3://{name}")[0]


def _store_variables() -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))


def _data_of(uri: str) -> bytes:
    match = _DATA.fullmatch(uri)
    if match is None:
        # The message does not contain the URI, which may be as long as a file.
        raise DocumentError(
            Reason.UNREADABLE,
            f"a data: URI of {len(uri)} characters is not `data:TYPE,` and percent-escaped bytes",
            stage="open",
        )
    return unquote_to_bytes(match[1])


def _local_files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    seen: set[str] = set()
    below = [iter(_entries(str(root), seen))]
    while below:
        path = next(below[-1], None)
        if path is None:
            below.pop()
        elif path.endswith(os.sep):
            below.append(iter(_entries(path.rstrip(os.sep), seen)))
        elif _is_document(file := Path(path)):
            yield file


def _entries(folder: str, seen: set[str]) -> list[str]:
    """Paths in `folder`, folders with a slash at the end, so that the order is that of the sorted full paths."""
    if (real := os.path.realpath(folder)) in seen:  # a link to a parent folder would not end
        return []
    seen.add(real)
    try:
        with os.scandir(folder) as entries:
            paths = [entry.path + os.sep * _is_folder(entry) for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        _raise_unlisted(error)
        return []
    return sorted(paths, key=os.fsencode)


def _is_document(path: Path) -> bool:
    """Whether `path` is a regular file, or a link that is broken or not accessible; False for pipes and devices."""
    try:
        return path.is_file() or not path.exists()
    except PermissionError as error:
        if os.path.islink(path):  # False if the folder is not accessible
            return True
        error.filename = str(path.parent)
        _raise_unlisted(error)
    return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or to something that is not accessible
        return False


def _raise_unlisted(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise InputError(
            f"folder {os.fsencode(error.filename)!r} cannot be listed: {error.strerror}; its files would be missing"
        ) from error


def _sizes_and_times(root: str) -> Iterator[tuple[str, int, int]]:
    """The files of `list_files` with size in bytes and time of the last change in nanoseconds; 0 for broken links."""
    local = local_path(root)
    if local is None:
        yield from _remote_files(root)
        return
    for path in _local_files(local):
        try:
            status = path.stat()
            yield local_uri(path), status.st_size, status.st_mtime_ns
        except OSError:
            yield local_uri(path), 0, 0


def _remote_files(root: str) -> Iterator[tuple[str, int, int]]:
    """URI, size in bytes and time of the last change in nanoseconds, of each file."""
    in_bucket = _IN_BUCKET.fullmatch(root)
    files, path = filesystem(root)
    bucket, _, key = path.partition("/")
    listing = bucket_keys.listed(bucket, key, _store_variables()) if in_bucket else _arrow_files(files, path)
    scheme = root.partition("://")[0] + "://"
    for name, size, changed in listing:
        if not any(part.startswith(".") for part in name[len(path) :].split("/")):
            yield scheme + quote(name), size, changed


def _arrow_files(files: pafs.FileSystem, path: str) -> Iterable[tuple[str, int, int]]:
    root = files.get_file_info(path)
    selector = pafs.FileSelector(path, recursive=True, allow_not_found=True)
    infos = [root] if root.is_file else files.get_file_info(selector)
    return sorted((info.path, info.size, info.mtime_ns) for info in infos if info.is_file)
