"""Files by URI: a local path, or an object store's address (`s3://bucket/key`) through Arrow's file systems.

Credentials and endpoints come from the standard chain (`AWS_*` variables, `AWS_ENDPOINT_URL` for other servers than AWS).
Local names need not be text: Arrow can hold no name that is not UTF-8, so local files are listed and opened by their
bytes, and such a name is written as a `file://` URI with percent escapes, which every function here takes back.
`read_bytes` takes `data:` URIs too: what is too small for a file of its own, such as a picture's part of one large file.
"""

import functools
import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
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
                return _bucket(in_bucket[1], _store_variables()), unquote(in_bucket[1] + in_bucket[2], errors="strict").rstrip("/")
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

    Raises:
        InputError: when a local folder may not be listed.
    """
    local = local_path(root)
    if local is None:
        yield from (uri for uri, _ in _remote_files(root))
    elif local.is_file():
        yield local_uri(local)
    else:
        yield from map(local_uri, sorted(_local_files(local), key=os.fsencode))


def stamps(root: str) -> dict[str, str]:
    """Size and time of the last change of the files that `list_files` names, by URI.

    Left out are links that lead nowhere, and files that changed less than a minute ago: they may do so again before a clock shows it.
    """
    settled = (time.time() - _SETTLES) * 1e9
    local = local_path(root)
    if local is None:
        found = ((uri, info.size, info.mtime_ns) for uri, info in _remote_files(root))
    else:
        found = ((local_uri(path), *_size_and_time(path)) for path in ([local] if local.is_file() else _local_files(local)))
    return {uri: f"{size}-{changed}" for uri, size, changed in found if changed and changed < settled}


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
            Reason.UNREADABLE, f"a data: URI of {len(uri)} characters is not `data:TYPE,` and percent-escaped bytes", stage="open"
        )
    return unquote_to_bytes(match[1])


def _local_files(root: Path) -> Iterator[Path]:
    seen: set[str] = set()
    for folder, folders, names in os.walk(root, followlinks=True, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if (real := os.path.realpath(folder)) in seen:  # a link back up would be walked for ever
            folders.clear()
            continue
        seen.add(real)
        paths = (Path(folder, name) for name in names if not name.startswith("."))
        yield from (path for path in paths if path.is_file() or not path.exists())


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise InputError(f"folder {os.fsencode(error.filename)!r} cannot be listed: {error.strerror}; its files would be lost") from error


def _size_and_time(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _remote_files(root: str) -> Iterator[tuple[str, pafs.FileInfo]]:
    files, path = filesystem(root)
    alone = files.get_file_info(path)
    if alone.type == pafs.FileType.File:
        yield root, alone
        return
    scheme = root.partition("://")[0] + "://"
    for info in sorted(files.get_file_info(pafs.FileSelector(path, recursive=True, allow_not_found=True)), key=lambda info: info.path):
        inside = info.path[len(path) :].lstrip("/")
        if info.type == pafs.FileType.File and not any(part.startswith(".") for part in inside.split("/")):
            yield scheme + quote(info.path), info
