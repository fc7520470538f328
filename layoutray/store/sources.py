"""Files by URI: a local path, or an object store's address (`s3://bucket/key`) through Arrow's file systems.

Credentials and endpoints come from the standard chain (`AWS_*` variables, `AWS_ENDPOINT_URL` for other servers than AWS). Buckets are
listed by boto3, a thousand keys at a time, as Arrow holds all of a listing at once.
Local names need not be text: Arrow can hold no name that is not UTF-8, so local files are listed and opened by their
bytes, and such a name is written as a `file://` URI with percent escapes, which every function here takes back.
`read_bytes` takes `data:` URIs too: what is too small for a file of its own, such as a picture's part of one large file.
"""

import functools
import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, unquote_to_bytes

import pyarrow as pa
import pyarrow.fs as pafs

from layoutray.errors import DocumentError, InputError, Reason

_IN_BUCKET = re.compile(r"s3://([\w.-]+)((?:/(?:[\w.~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?)", re.ASCII)
"""A bucket, and the key of something in it. Addresses with options (`?region=…`) are left to Arrow."""
_SETTLES = 60.0  # seconds
_DATA = re.compile(r"data:[^,;]*,((?:[\x21-\x24\x26-\x7e]|%[0-9A-Fa-f]{2})*)")


def filesystem(uri: str) -> tuple[pafs.FileSystem, str]:
    """The Arrow file system of `uri`, and the path within it. Raises InputError for an address that Arrow does not understand."""
    local = local_path(uri)
    if local is None:
        in_bucket = _IN_BUCKET.fullmatch(uri)
        try:
            if in_bucket:
                return _bucket(in_bucket[1], _store_variables()), unquote(
                    in_bucket[1] + in_bucket[2], errors="strict"
                ).rstrip("/")
            return pafs.FileSystem.from_uri(uri)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise InputError(
                f"{uri!r} is no address: {error}; give a folder, or s3://BUCKET/PATH with blanks and the like as %20"
            ) from error
    return pafs.LocalFileSystem(), str(local)


def local_path(uri: str) -> Path | None:
    """The absolute local path that `uri` names; None for an object store's address."""
    if uri.startswith("file://"):
        return Path(os.fsdecode(unquote_to_bytes(uri.removeprefix("file://"))))
    return None if "://" in uri else Path(uri).absolute()


def local_uri(path: Path) -> str:
    """The printable name of a local file: its path, or a `file://` URI when the path is not UTF-8."""
    raw = os.fsencode(path)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "file://" + quote(raw)


def data_uri(media_type: str, data: bytes) -> str:
    """A URI that holds `data` itself, in percent escapes (RFC 2397)."""
    return f"data:{media_type},{quote(data, safe=':,')}"


def join(root: str | Path, *parts: str) -> str:
    """`root` with `parts` appended, whatever its scheme."""
    return "/".join((str(root).rstrip("/"), *parts))


def absolute(uri: str) -> str:
    """`uri` such that it names the same place in processes with another working folder (Ray's workers have their own)."""
    return uri if "://" in uri else str(Path(uri).absolute())


def exists(uri: str) -> bool:
    """Whether a file or folder is there."""
    local = local_path(uri)
    if local is not None:
        return local.exists()
    files, path = filesystem(uri)
    return files.get_file_info(path).type != pafs.FileType.NotFound


def list_files(root: str) -> Iterator[str]:
    """URIs of all files below `root` (or `root` itself when it is a file), sorted; names that start with a dot are left out.

    Links are followed; one that leads nowhere is listed all the same, so that opening it says so. Pipes and devices are not files.
    Memory holds the names of one local folder and those above it, or a thousand keys of a bucket; of other object stores, and of
    addresses with options, all that there is.

    Raises:
        InputError: when a local folder or a bucket may not be listed, or there is no such bucket.
    """
    local = local_path(root)
    if local is None:
        yield from (uri for uri, _, _ in _remote_files(root))
    else:
        yield from map(local_uri, _local_files(local))


def stamps(root: str) -> Iterator[tuple[str, str]]:
    """The files that `list_files` names, each with its size and the time of its last change.

    Left out are links that lead nowhere, and files that changed less than a minute ago: they may do so again before a clock shows it.
    """
    settled = (time.time() - _SETTLES) * 1e9
    local = local_path(root)
    found = (
        _remote_files(root)
        if local is None
        else ((local_uri(path), *_size_and_time(path)) for path in _local_files(local))
    )
    return ((uri, f"{size}-{changed}") for uri, size, changed in found if changed and changed < settled)


def read_bytes(uri: str) -> bytes:
    """The whole file, or what a `data:` URI holds.

    Raises:
        DocumentError: (not_found, unreadable, or unreachable where an object store did not answer as it should; stage `open`).
    """
    if uri.startswith("data:"):
        return _held_by(uri)
    local = local_path(uri)
    try:
        if local is not None:
            return local.read_bytes()
        files, path = filesystem(uri)
        with files.open_input_file(path) as stream:
            return stream.read()
    except FileNotFoundError as error:
        raise DocumentError(Reason.NOT_FOUND, f"{uri} does not exist", stage="open") from error
    except OSError as error:
        # Arrow has no error of its own for what an object store refuses; the rest are its outages.
        refused = local is not None or "ACCESS_DENIED" in str(error)
        reason = Reason.UNREADABLE if refused else Reason.UNREACHABLE
        raise DocumentError(reason, f"{uri} cannot be read: {error.strerror or error}", stage="open") from error


def remove_folder(uri: str) -> None:
    """Delete a folder with all that is in it; nothing happens where there is none."""
    files, path = filesystem(uri)
    if files.get_file_info(path).type == pafs.FileType.Directory:
        files.delete_dir(path)


def content_id(data: bytes) -> str:
    """Identity of a document: SHA-256 of its bytes, as hex."""
    return hashlib.sha256(data).hexdigest()


@functools.lru_cache(maxsize=16)
def _bucket(name: str, variables: tuple[tuple[str, str], ...]) -> pafs.FileSystem:
    # It reads the variables itself. Each takes some 20 ms of a core to make, and opens connections of its own.
    return pafs.FileSystem.from_uri(f"s3://{name}")[0]


def _store_variables() -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))


def _held_by(uri: str) -> bytes:
    match = _DATA.fullmatch(uri)
    if match is None:
        # The URI may be as long as a file, so the message does not repeat it.
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
    """Paths in `folder` in the order in which whole paths are sorted, for which folders have a slash at their end."""
    if (real := os.path.realpath(folder)) in seen:  # a link back up would be walked for ever
        return []
    seen.add(real)
    try:
        with os.scandir(folder) as entries:
            found = [entry.path + os.sep * _is_folder(entry) for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        _refuse(error)
        return []
    return sorted(found, key=os.fsencode)


def _is_document(path: Path) -> bool:
    """Also a link that leads nowhere, or where nobody may look; not a pipe or device."""
    try:
        return path.is_file() or not path.exists()
    except PermissionError as error:
        if os.path.islink(path):  # False where that may not be told
            return True
        error.filename = str(path.parent)
        _refuse(error)
    return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle, or to what may not be seen
        return False


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise InputError(
            f"folder {os.fsencode(error.filename)!r} cannot be listed: {error.strerror}; its files would be lost"
        ) from error


def _size_and_time(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _remote_files(root: str) -> Iterator[tuple[str, int, int]]:
    """URI, size in bytes and time of the last change in nanoseconds."""
    in_bucket = _IN_BUCKET.fullmatch(root)
    files, path = filesystem(root)
    found = _keys(*path.partition("/")[::2]) if in_bucket else _arrow_files(files, path)
    scheme = root.partition("://")[0] + "://"
    for name, size, changed in found:
        if not any(part.startswith(".") for part in name[len(path) :].split("/")):
            yield scheme + quote(name), size, changed


def _arrow_files(files: pafs.FileSystem, path: str) -> Iterable[tuple[str, int, int]]:
    alone = files.get_file_info(path)
    below = (
        files.get_file_info(pafs.FileSelector(path, recursive=True, allow_not_found=True))
        if not alone.is_file
        else [alone]
    )
    return sorted((info.path, info.size, info.mtime_ns) for info in below if info.is_file)


def _keys(bucket: str, path: str) -> Iterator[tuple[str, int, int]]:
    """The objects below `path` in a bucket, or the one of that name where there are none; a bucket lists its keys in their order."""
    from botocore.exceptions import BotoCoreError, ClientError

    client = _lister(_store_variables())
    listing = client.get_paginator("list_objects_v2")
    try:
        found = chain.from_iterable(
            page.get("Contents", ()) for page in listing.paginate(Bucket=bucket, Prefix=f"{path}/" if path else "")
        )
        below = next(found, None)
        if below is None and path:
            alone = client.list_objects_v2(Bucket=bucket, Prefix=path, MaxKeys=1).get("Contents", ())
            found = (one for one in alone if one["Key"] == path)
        for one in found if below is None else chain([below], found):
            if not one["Key"].endswith("/"):
                yield f"{bucket}/{one['Key']}", one["Size"], round(one["LastModified"].timestamp() * 1e9)
    except (BotoCoreError, ClientError) as error:
        raise InputError(
            f"bucket {bucket} cannot be listed: {error}; see to its name, the credentials (AWS_ACCESS_KEY_ID and the like) and, "
            "for another server than AWS, AWS_ENDPOINT_URL"
        ) from error


@functools.lru_cache(maxsize=4)
def _lister(variables: tuple[tuple[str, str], ...]) -> Any:
    # It reads the variables itself. Few processes list, and boto3 takes a quarter of a second to import, a client a tenth to make.
    import boto3
    from botocore import UNSIGNED
    from botocore.config import Config
    from botocore.session import get_session

    core = get_session()
    # Its own way to read times takes more than half of the time of a listing.
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=datetime.fromisoformat)
    session = boto3.Session(botocore_session=core)
    known = session.get_credentials() is not None
    return session.client(
        "s3", config=Config(retries={"mode": "standard"}, signature_version=None if known else UNSIGNED)
    )
