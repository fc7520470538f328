"""Tasks of a Label Studio export: the pages of each, the annotation that counts, and the picture below the root.

A task shows one picture, or a list of pictures, each of them a page (`valueList`, or a `Repeater` over the list). A
region of such a task says its page by `item_index` or by the number at the end of `to_name`, as in `page_0`. A region
that says neither is on the first page, where Label Studio shows it.

A picture below the root is the one whose path has the longest common end with the path in the task. Names alone often
repeat, so a task whose picture may be several files, or whose file may be that of another task, is refused.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from layoutray.readers.annotation import IMAGE_SUFFIXES, comparable, file_name, json_value, malformed, member
from layoutray.store import sources

ORIGIN = "layoutray"
"""Key of the export's page data in a task's data."""
_ORIGIN_KEYS = {
    "doc_id": str,
    "page": int,
    "source": str,
    "image": str,
    "split": str,
    "tags": str,
    "lines": list,
    "blocks": list,
    "entities": list,
}
_UPLOADED = re.compile(r"[0-9a-f]{8}-(.+)")
"""Label Studio prepends eight hexadecimal digits to the name of an uploaded file."""
_UPLOADS = "upload"
"""Label Studio's own folder of uploaded files; the folders in it are projects."""
_NUMBERED = re.compile(r".*_(\d{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """A page of a task, with the regions of its latest annotation.

    Attributes:
        where: the file and the task in it, for messages.
        data: what Label Studio has shown.
        origin: what our own export states of the page; empty for tasks from elsewhere.
        stamp: time of the annotation, as text that sorts by time; empty if it is not known.
        result: regions and relations of the annotation; None if the task is not annotated.
        number: number of the page in the document, from 1.
        shown: path of the picture as the task states it; empty if it states none.
        image: URI of the picture; empty if it is not below the root.
        fault: why the page cannot be read; empty if it can.
    """

    where: str
    data: dict[str, Any]
    origin: dict[str, Any]
    stamp: str
    result: list[Any] | None
    number: int = 1
    shown: str = ""
    image: str = ""
    fault: str = ""

    @property
    def document(self) -> str:
        """The document of the page: its id, or for a task from elsewhere the task itself."""
        return self.origin.get("doc_id") or self.where


def pages_of(uri: str) -> Iterator[TaskPage]:
    """The pages of all tasks of an export, without their pictures. Raises DocumentError (bad_annotation)."""
    tasks = json_value(sources.read_bytes(uri), uri)
    if not isinstance(tasks, list):
        raise malformed(
            uri,
            f"the JSON value is a {type(tasks).__name__}, expected a list of tasks; export in the format JSON",
        )
    for index, task in enumerate(tasks):
        where = f"{uri}#{task.get('id', index)}" if isinstance(task, dict) else ""
        annotations = _annotations(task)
        if annotations is None:
            raise malformed(
                f"{uri}, task {index}",
                "has no `data` and `annotations` (format JSON-MIN?); export the project in the format JSON",
            )
        latest = max(reversed(annotations), key=_stamp, default=None)
        page = TaskPage(
            where=where,
            data=task["data"],
            origin=_origin(task["data"], where),
            stamp=_stamp(latest or {}),
            result=None if latest is None else member(latest, "result", list, where),
        )
        yield from (
            [replace(page, number=page.origin["page"], image=page.origin["image"])] if page.origin else _split(page)
        )


def with_pictures(pages: Sequence[TaskPage], files: Iterable[str]) -> list[TaskPage]:
    """The pages with their pictures among `files`. A page whose picture is ambiguous has a fault."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for uri in files:
        if file_name(uri).suffix.lower() in IMAGE_SUFFIXES:
            by_name[comparable(uri).rpartition("/")[2]].append(uri)
    found = {shown: _longest_common_end(shown, by_name) for shown in {page.shown for page in pages if page.shown}}
    claims: dict[str, dict[str, int]] = defaultdict(dict)  # of each file, the pictures that it may be
    for shown, (length, uris) in found.items():
        for uri in uris:
            claims[uri][shown] = length
    return [replace(page, **_picture(found[page.shown], claims)) if page.shown else page for page in pages]


def _picture(found: tuple[int, list[str]], claims: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """The picture of a page or its fault, from the files that it may be."""
    length, uris = found
    if len(uris) > 1:
        return {
            "fault": f"its picture is one of {len(uris)} files with the same name, such as {' and '.join(uris[:2])}; "
            "give them the folders of the task, or use Label Studio's copies in media/upload"
        }
    if not uris or length < max(claims[uris[0]].values()):
        return {}
    rivals = [shown for shown, its_length in claims[uris[0]].items() if its_length == length]
    if len(rivals) > 1:
        return {
            "fault": f"{uris[0]} may be its picture, or that of another task, because their names are the same: "
            f"{' and '.join(sorted(rivals)[:2])}; give it the folders of the task, or use Label Studio's copies in "
            "media/upload"
        }
    return {"image": uris[0]}


def _longest_common_end(shown: str, by_name: Mapping[str, Sequence[str]]) -> tuple[int, list[str]]:
    """Number of equal parts at the end of the path `shown`, and the files that have so many."""
    *folders, name = comparable(shown).split("/")
    uploaded = _UPLOADED.fullmatch(name)
    if uploaded and _UPLOADS in folders:
        folders = []
    if name not in by_name and uploaded:
        name = uploaded[1]
    lengths = {uri: _common_end([*folders, name], comparable(uri).split("/")) for uri in by_name.get(name, ())}
    longest = max(lengths.values(), default=0)
    return longest, [uri for uri, length in lengths.items() if length == longest]


def _common_end(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _annotations(task: Any) -> list[dict[str, Any]] | None:
    """The annotations of a task that are not cancelled; None if it is no task. Old exports call them completions."""
    if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
        return None
    entries = task.get("annotations", task.get("completions", []))
    if not isinstance(entries, list):
        return None
    return [entry for entry in entries if isinstance(entry, dict) and not entry.get("was_cancelled")]


def _stamp(annotation: dict[str, Any]) -> str:
    return str(annotation.get("updated_at") or annotation.get("created_at") or "")


def _origin(data: dict[str, Any], where: str) -> dict[str, Any]:
    if ORIGIN not in data:
        return {}
    origin = member(data, ORIGIN, dict, where)
    for key, kind in _ORIGIN_KEYS.items():
        member(origin, key, kind, f"{where}, `{ORIGIN}`")
    return origin


def _split(task: TaskPage) -> Iterator[TaskPage]:
    """The pages of a task from elsewhere, each with its own regions and all relations."""
    entries = [entry for entry in task.result or [] if isinstance(entry, dict)]
    by_index = any(entry.get("item_index") is not None for entry in entries)
    single, several = _shown(task.data)
    pictures = several if several and (by_index or not single) else [single]
    named = {str(entry.get("to_name", "")) for entry in entries if _has_place(entry)}
    if not by_index and len(named) > 1 and (pictures is not several or not all(map(_NUMBERED.fullmatch, named))):
        fault = f"its regions are on {', '.join(sorted(named))}, expected one picture, or a list of pictures as pages"
        yield replace(task, fault=fault)
        return
    indices = _indices(entries, by_index) if by_index or len(pictures) > 1 else {}
    last = max(indices.values(), default=0)
    if last >= len(pictures) and any(pictures):
        yield replace(task, fault=f"a region is on page {last + 1}, but the task has {len(pictures)} pictures")
        return
    for index in range(max(len(pictures), last + 1)):
        own = [entry for entry in entries if "id" not in entry or indices.get(str(entry["id"]), 0) == index]
        yield replace(
            task,
            result=None if task.result is None else own,
            number=index + 1,
            shown=pictures[index] if index < len(pictures) else "",
        )


def _has_place(entry: Mapping[str, Any]) -> bool:
    value = entry.get("value")
    return isinstance(value, dict) and ("points" in value or {"x", "y"} <= value.keys())


def _indices(entries: Iterable[Mapping[str, Any]], by_index: bool) -> dict[str, int]:
    """The page of each region, from 0, by its id; without those that say none."""
    indices: dict[str, int] = {}
    for entry in entries:
        stated, number = entry.get("item_index"), _NUMBERED.fullmatch(str(entry.get("to_name", "")))
        if by_index and type(stated) is int and stated >= 0:
            indices.setdefault(str(entry.get("id")), stated)
        elif not by_index and number:
            indices.setdefault(str(entry.get("id")), int(number[1]))
    return indices


def _shown(data: dict[str, Any]) -> tuple[str, list[str]]:
    """The path of the picture in a task's data, and those of its list of pictures; empty if there is none."""
    lists = ([_path(item) for item in value] for value in data.values() if isinstance(value, list))
    return next(filter(None, map(_path, data.values())), ""), next((one for one in lists if one and all(one)), [])


def _path(value: Any) -> str:
    """The path of the picture that a value names, or a member of it; empty if it names none."""
    if isinstance(value, dict):
        return next(filter(None, (_path(item) for item in value.values() if isinstance(item, str))), "")
    if not isinstance(value, str):
        return ""
    _, is_local, local = value.rpartition("?d=")
    path = unquote(local if is_local else value.partition("?")[0])
    return path if PurePosixPath(path).suffix.lower() in IMAGE_SUFFIXES else ""
