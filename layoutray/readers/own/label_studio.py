"""Label Studio: labelled pages of a project, exported in the format JSON.

Files: every `*.json` below the root, a list of tasks with their annotations; a task is a page. A rectangle or polygon
with a transcription (a text area of the region) is a word, or several if the transcription has spaces. One without a
transcription is an area and labels the words inside it. Boxes are percentages in full float precision, so that
unchanged boxes are read back exactly. A rotated box becomes its bounding box. Regions that relations join are one
record. Each labelled entity is also a value of its document. The latest annotation of a page that is not cancelled
counts, also when the page was imported twice. A page without annotation becomes a dead letter, `not_annotated`.

Tasks made by `layoutray export label-studio` contain their document, page and split, and the order, lines and
entities of their words. Every other task is a document of its own; its picture is searched below the root by name.
"""

import json
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import unquote

from layoutray.document import Field, Page
from layoutray.document.tags import OUTSIDE, are_entity_tags, kind_of, spans
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    IMAGE_SUFFIXES,
    PageSize,
    PageWords,
    bounds,
    file_name,
    json_uri,
    json_value,
    malformed,
    member,
    nothing_found,
    numbers,
    page_size,
    picture_size,
    truth_of_pages,
)
from layoutray.readers.datasets.regions import AnnotatedRegion, words_of
from layoutray.store import sources

_ORIGIN = "layoutray"
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
_WORD = re.compile(r"word-(\d+)(?:#.*)?")
_UPLOADED = re.compile(r"[0-9a-f]{8}-(.+)")
"""Label Studio prepends eight hexadecimal digits to the name of an uploaded file."""
_CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """A task of an export with its latest annotation: one page.

    Attributes:
        where: the file and the task in it, for messages.
        data: what Label Studio has shown.
        origin: what our own export states of the page; empty for tasks from elsewhere.
        stamp: time of the annotation, as text that sorts by time; empty if it is not known.
        result: regions and relations of the annotation; None if the page is not annotated.
    """

    where: str
    data: dict[str, Any]
    origin: dict[str, Any]
    stamp: str
    result: list[Any] | None

    @property
    def document(self) -> str:
        """The document of the page: its id, or for a task from elsewhere the task itself."""
        return self.origin.get("doc_id") or self.where

    @property
    def number(self) -> int:
        """Number of the page in the document, from 1."""
        return self.origin.get("page", 1)


class _LabelStudio:
    name = "label_studio"
    tags = "iob2"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = list(sources.list_files(root))
        exports = [uri for uri in files if file_name(uri).suffix.lower() == ".json"]
        if not exports:
            raise nothing_found(root, "NAME.json, a project's export in Label Studio's format JSON")
        pictures = {file_name(uri).name: uri for uri in files if file_name(uri).suffix.lower() in IMAGE_SUFFIXES}
        documents: dict[str, dict[int, _Task]] = defaultdict(dict)
        for task in (task for uri in exports for task in _tasks(uri)):
            pages = documents[task.document]
            if task.number not in pages or pages[task.number].stamp <= task.stamp:
                pages[task.number] = task
        for key, pages in documents.items():
            first = pages[min(pages)]
            image = first.origin.get("image", pictures.get(_name(first.data), ""))
            source = first.origin.get("source") or image or first.where
            annotation = json_uri([asdict(pages[number]) for number in sorted(pages)], ascii_only=True)
            yield DocumentRef(
                key=key, source=source, image=image, annotation=annotation, split=first.origin.get("split", "")
            )

    def read(self, reference: DocumentRef) -> Truth:
        values = json_value(sources.read_bytes(reference.annotation), reference.source)
        tasks = [_Task(**value) for value in values]
        doc_id = tasks[0].origin.get("doc_id") or sources.content_id(
            sources.read_bytes(reference.image)
            if reference.image
            else json.dumps(tasks[0].data, sort_keys=True).encode()
        )
        annotated = [(task, _size(task, reference)) for task in tasks if task.result is not None]
        collected = [_collect(task, size) for task, size in annotated]
        pages = [
            words.page(doc_id, reference, task.number, size)
            for words, (task, size) in zip(collected, annotated, strict=True)
        ]
        last = max(1, *(task.number for task in tasks))
        not_annotated = [task.number for task in tasks if task.result is None]
        return truth_of_pages(reference.document(doc_id, last, _fields(pages)), pages, collected, not_annotated)


def _fields(pages: Sequence[Page]) -> Iterator[Field]:
    """The labelled entities as values of their document, each once."""
    tagged = [(page.words, [word.tag for word in page.words]) for page in pages]
    yield from dict.fromkeys(
        Field(name, " ".join(word.text for word in words[start:end]))
        for words, tags in tagged
        if are_entity_tags(tags)
        for name, start, end in spans(tags)
    )


def _tasks(uri: str) -> Iterator[_Task]:
    """The tasks of an export."""
    tasks = json_value(sources.read_bytes(uri), uri)
    if not isinstance(tasks, list):
        raise malformed(
            uri,
            f"the JSON value is a {type(tasks).__name__}, expected a list of tasks; export in the format JSON",
        )
    for index, task in enumerate(tasks):
        if not (
            isinstance(task, dict)
            and isinstance(task.get("data"), dict)
            and isinstance(task.get("annotations", []), list)
        ):
            raise malformed(
                f"{uri}, task {index}",
                "has no `data` and `annotations` (format JSON-MIN?); export the project in the format JSON",
            )
        where = f"{uri}#{task.get('id', index)}"
        annotations = [entry for entry in task.get("annotations", []) if isinstance(entry, dict)]
        valid = [entry for entry in annotations if not entry.get("was_cancelled")]
        latest = max(reversed(valid), key=_stamp, default=None)
        yield _Task(
            where=where,
            data=task["data"],
            origin=_origin(task["data"], where),
            stamp=_stamp(latest or {}),
            result=None if latest is None else member(latest, "result", list, where),
        )


def _stamp(annotation: dict[str, Any]) -> str:
    return str(annotation.get("updated_at") or annotation.get("created_at") or "")


def _origin(data: dict[str, Any], where: str) -> dict[str, Any]:
    if _ORIGIN not in data:
        return {}
    origin = member(data, _ORIGIN, dict, where)
    for key, kind in _ORIGIN_KEYS.items():
        member(origin, key, kind, f"{where}, `{_ORIGIN}`")
    return origin


def _name(data: dict[str, Any]) -> str:
    """File name of a task's picture: the first value of its data with a picture suffix."""
    for value in data.values():
        name = file_name(unquote(value.rpartition("?d=")[2])) if isinstance(value, str) else file_name("")
        if name.suffix.lower() in IMAGE_SUFFIXES:
            uploaded = _UPLOADED.fullmatch(name.name)
            return uploaded[1] if uploaded else name.name
    return ""


def _collect(task: _Task, size: PageSize) -> PageWords:
    """The annotated words of a page of `size` pixels, in shares of the page."""
    page = PageWords(PageSize(1, 1))
    page.words, unused = words_of(list(_regions(task, size, page)))
    page.dropped += unused
    if task.origin.get("tags") == "region":
        page.words = [
            replace(word, tag=None if word.tag == OUTSIDE else kind_of(word.tag or "")) for word in page.words
        ]
    return page


def _size(task: _Task, reference: DocumentRef) -> PageSize:
    """The page's size in pixels."""
    if task.origin:
        return page_size(task.origin, task.where)
    for entry in task.result or ():
        if isinstance(entry, dict) and "original_width" in entry:
            return page_size({side: entry.get(f"original_{side}") for side in ("width", "height")}, task.where)
    return picture_size(sources.read_bytes(reference.image), reference.image) if reference.image else PageSize(1, 1)


def _regions(task: _Task, size: PageSize, page: PageWords) -> Iterator[AnnotatedRegion]:
    """The regions of an annotation, each merged from its results. Regions without a rectangle count as dropped."""
    parts: dict[str, dict[str, Any]] = defaultdict(dict)
    results = task.result or []
    for entry in results:
        if isinstance(entry, dict) and isinstance(entry.get("value"), dict) and "id" in entry:
            if angle := entry.get("image_rotation"):
                raise malformed(task.where, f"the picture is rotated by {angle} degrees; reset it in Label Studio")
            parts[str(entry["id"])] |= entry["value"]
    groups = _groups(results, list(parts))
    for index, (name, value) in enumerate(parts.items()):
        where = f"{task.where}, region {name}"
        sides = _sides(value, size, where)
        if sides is None:
            page.dropped += 1
            continue
        # Rounding to 32-bit floats restores the exported values exactly.
        box = page.place(array("f", [side / 100 for side in sides]), where)
        texts = value.get("text", [])
        text = " ".join(map(str, texts)) if isinstance(texts, list) else str(texts)
        word_data = _word_data(name, task.origin, index)
        yield AnnotatedRegion(box=box, label=_label(value, where), text=text, group=groups.get(name), **word_data)


def _groups(result: Sequence[Any], names: Sequence[str]) -> dict[str, int]:
    """The record of each region that a relation joins with another, by the region's name."""
    numbers = {name: number for number, name in enumerate(names)}
    relations = [
        (str(entry["from_id"]), str(entry["to_id"]))
        for entry in result
        if isinstance(entry, dict) and {"from_id", "to_id"} <= entry.keys()
    ]
    joined = [(numbers[one], numbers[other]) for one, other in relations if {one, other} <= numbers.keys()]
    if not joined:
        return {}
    firsts = list(range(len(names)))  # of each region: the first one that it is joined with, itself included
    for one, other in joined:
        first, second = sorted((firsts[one], firsts[other]))
        firsts = [first if number == second else number for number in firsts]
    records = {first: number for number, first in enumerate(sorted({*firsts}))}
    return {names[number]: records[firsts[number]] for number in sorted({number for pair in joined for number in pair})}


def _word_data(name: str, origin: dict[str, Any], index: int) -> dict[str, int | None]:
    """The export's data of the word behind a region. In tasks from elsewhere, every region is an entity of its own."""
    if not origin:
        return {"entity": index}
    number = int(match[1]) if (match := _WORD.fullmatch(name)) else len(origin["lines"])
    columns = {key: origin[kind] for key, kind in (("line", "lines"), ("block", "blocks"), ("entity", "entities"))}
    if not all(number < len(values) for values in columns.values()):
        return {}
    return {"number": number, **{key: values[number] for key, values in columns.items()}}


def _sides(value: dict[str, Any], size: PageSize, where: str) -> Sequence[float] | None:
    """x0, y0, x1, y1 in percent of the page; None when the region is neither a rectangle nor a polygon."""
    if isinstance(value.get("points"), list):
        points = [numbers(point, where, "points", "x, y") for point in value["points"]]
        return bounds([side for point in points for side in point], where)
    if not {"x", "y", "width", "height"} <= value.keys():
        return None
    x, y, width, height = numbers(
        [value[key] for key in ("x", "y", "width", "height")], where, form="x, y, width, height"
    )
    (degrees,) = numbers([value.get("rotation", 0)], where, "rotation", "degrees")
    if not degrees:
        return x, y, x + width, y + height
    # Clockwise about the top left corner. In pixels, because a percent of the width is not a percent of the height.
    sine, cosine, aspect = math.sin(math.radians(degrees)), math.cos(math.radians(degrees)), size.width / size.height
    rotated = [(right * width * aspect, down * height) for right, down in _CORNERS]
    quad = [
        side
        for right, down in rotated
        for side in (x + (right * cosine - down * sine) / aspect, y + right * sine + down * cosine)
    ]
    return bounds(quad, where)


def _label(value: dict[str, Any], where: str) -> str:
    labels = next((value[key] for key in ("rectanglelabels", "polygonlabels", "labels") if value.get(key)), [OUTSIDE])
    if not (isinstance(labels, list) and len(labels) == 1 and isinstance(labels[0], str) and labels[0]):
        raise malformed(where, f"has the labels {labels!r:.80}, expected one label")
    return labels[0]


READER = _LabelStudio()
