"""Label Studio: pages that people have labelled in its browser pages, as a project's export in the format JSON.

Files: every `*.json` below the root, a list of tasks with all their annotations; a task is a page. A rectangle or polygon with a
transcription (a text area of the region) is a word, several where it holds blanks; one without is an area, and labels the words
that stand in it. Boxes are percents as full floats, so that those of words that nobody touched are what they were, bit for bit;
one that is turned becomes the box around it. Of a page's annotations the latest that is not cancelled counts, also where a page was
imported twice; a page without one is a dead letter, `not_annotated`.

Tasks that `layoutray export label-studio` has made know their document, page and split, and the order, lines and entities of
their words. Others are a document each, whose picture is looked for below the root by its name.
"""

import json
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from layoutray.document import Document
from layoutray.document.tags import OUTSIDE, kind_of
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    IMAGE_SUFFIXES,
    PageSize,
    PageWords,
    bounds,
    file_name,
    json_value,
    malformed,
    member,
    nothing_found,
    numbers,
    page_size,
    picture_size,
)
from layoutray.readers.regions import Region, words_of
from layoutray.store import sources

_ORIGIN = "layoutray"
"""Key in a task's data of what the export says of the page."""
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
"""Label Studio puts eight digits before the name of a file that is uploaded to it."""
_CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))


class _LabelStudio:
    name = "label_studio"
    tags = "iob2"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = list(sources.list_files(root))
        exports = [uri for uri in files if file_name(uri).suffix.lower() == ".json"]
        if not exports:
            raise nothing_found(root, "NAME.json, a project's export in Label Studio's format JSON")
        pictures = {file_name(uri).name: uri for uri in files if file_name(uri).suffix.lower() in IMAGE_SUFFIXES}
        documents: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        for task in (task for uri in exports for task in _tasks(uri)):
            pages, number = documents[task["origin"].get("doc_id") or task["where"]], task["origin"].get("page", 1)
            if number not in pages or pages[number]["stamp"] <= task["stamp"]:
                pages[number] = task
        for key, pages in documents.items():
            first = pages[min(pages)]
            image = first["origin"].get("image", pictures.get(_name(first["data"]), ""))
            source = first["origin"].get("source") or image or first["where"]
            annotation = sources.data_uri(
                "application/json", json.dumps([pages[number] for number in sorted(pages)]).encode()
            )
            yield DocumentRef(key, source, image, annotation, split=first["origin"].get("split", ""))

    def read(self, item: DocumentRef) -> Truth:
        tasks = json_value(sources.read_bytes(item.annotation), item.source)
        doc_id = tasks[0]["origin"].get("doc_id") or _doc_id(item, tasks[0])
        done = [(task, *_collect(task, item)) for task in tasks if task["result"] is not None]
        pages = [collected.page(doc_id, item, task["origin"].get("page", 1), size) for task, size, collected in done]
        waiting = tuple(task["origin"].get("page", 1) for task in tasks if task["result"] is None)
        document = Document(
            doc_id, item.source, item.split, num_pages=max(*waiting, *(page.number for page in pages), 1)
        )
        repairs, dropped = (sum(getattr(page, count) for _, _, page in done) for count in ("repairs", "dropped"))
        return Truth(document, tuple(pages), repairs, dropped, not_annotated=waiting)


def _tasks(uri: str) -> Iterator[dict[str, Any]]:
    """What counts of each task in an export: where it stands, its data, and the latest annotation with when it was made."""
    tasks = json_value(sources.read_bytes(uri), uri)
    if not isinstance(tasks, list):
        raise malformed(
            uri,
            f"the JSON holds a {type(tasks).__name__}, expected a list of tasks; export the project in the format JSON",
        )
    for index, task in enumerate(tasks):
        if not (
            isinstance(task, dict)
            and isinstance(task.get("data"), dict)
            and isinstance(task.get("annotations", []), list)
        ):
            raise malformed(
                f"{uri}, task {index}",
                "has no `data` and `annotations`, as in exports in the format JSON-MIN; export the project again in the format JSON",
            )
        where = f"{uri}#{task.get('id', index)}"
        made = [one for one in task.get("annotations", []) if isinstance(one, dict) and not one.get("was_cancelled")]
        latest = max(reversed(made), key=_stamp, default=None)
        result = None if latest is None else member(latest, "result", list, where)
        yield {
            "where": where,
            "data": task["data"],
            "origin": _origin(task["data"], where),
            "stamp": _stamp(latest or {}),
            "result": result,
        }


def _stamp(annotation: dict[str, Any]) -> str:
    """When an annotation was made, which Label Studio writes so that later times are greater texts; empty where it does not say."""
    return str(annotation.get("updated_at") or annotation.get("created_at") or "")


def _origin(data: dict[str, Any], where: str) -> dict[str, Any]:
    """What the export said of the page; empty for tasks that it did not make."""
    if _ORIGIN not in data:
        return {}
    origin = member(data, _ORIGIN, dict, where)
    for key, kind in _ORIGIN_KEYS.items():
        member(origin, key, kind, f"{where}, `{_ORIGIN}`")
    return origin


def _name(data: dict[str, Any]) -> str:
    """The file name of the picture that a task shows: of the first of its data that ends as pictures do."""
    for value in data.values():
        name = file_name(unquote(value.rpartition("?d=")[2])) if isinstance(value, str) else file_name("")
        if name.suffix.lower() in IMAGE_SUFFIXES:
            uploaded = _UPLOADED.fullmatch(name.name)
            return uploaded[1] if uploaded else name.name
    return ""


def _doc_id(item: DocumentRef, task: dict[str, Any]) -> str:
    return sources.content_id(
        sources.read_bytes(item.image) if item.image else json.dumps(task["data"], sort_keys=True).encode()
    )


def _collect(task: dict[str, Any], item: DocumentRef) -> tuple[PageSize, PageWords]:
    """The page's size in pixels, and its words as its annotation says."""
    size = _size(task, item)
    page = PageWords(PageSize(1, 1))
    regions = list(_regions(task, size, page))
    page.words, nothing = words_of(regions)
    page.dropped += nothing
    if task["origin"].get("tags") == "region":
        page.words = [
            replace(word, tag=None if word.tag == OUTSIDE else kind_of(word.tag or "")) for word in page.words
        ]
    return size, page


def _size(task: dict[str, Any], item: DocumentRef) -> PageSize:
    if task["origin"]:
        return page_size(task["origin"], task["where"])
    for one in task["result"]:
        if isinstance(one, dict) and "original_width" in one:
            return page_size({side: one.get(f"original_{side}") for side in ("width", "height")}, task["where"])
    return picture_size(sources.read_bytes(item.image), item.image) if item.image else PageSize(1, 1)


def _regions(task: dict[str, Any], size: PageSize, page: PageWords) -> Iterator[Region]:
    """The regions of an annotation, each put together from its results; those without a rectangle are counted as dropped."""
    parts: dict[str, dict[str, Any]] = defaultdict(dict)
    for one in task["result"]:
        if isinstance(one, dict) and isinstance(one.get("value"), dict) and "id" in one:
            if one.get("image_rotation"):
                raise malformed(
                    task["where"],
                    f"the picture is turned by {one['image_rotation']} degrees; turn it back in Label Studio",
                )
            parts[str(one["id"])] |= one["value"]
    for index, (name, value) in enumerate(parts.items()):
        where = f"{task['where']}, region {name}"
        sides = _sides(value, size, where)
        if sides is None:
            page.dropped += 1
            continue
        # What was a 32-bit float when it was exported is the nearest one again.
        box = page.place(array("f", [side / 100 for side in sides]), where)
        yield Region(box, _label(value, where), _text(value), **_known(name, task["origin"], index))


def _known(name: str, origin: dict[str, Any], index: int) -> dict[str, int | None]:
    """What the export said of the word that a region was made from; of tasks that it did not make every region is an entity of its own."""
    if not origin:
        return {"entity": index}
    number = int(found[1]) if (found := _WORD.fullmatch(name)) else len(origin["lines"])
    of_words = {key: origin[kind] for key, kind in (("line", "lines"), ("block", "blocks"), ("entity", "entities"))}
    if not all(number < len(values) for values in of_words.values()):
        return {}
    return {"number": number, **{key: values[number] for key, values in of_words.items()}}


def _sides(value: dict[str, Any], size: PageSize, where: str) -> Sequence[float] | None:
    """x0, y0, x1, y1 in percent of the page; None for what is neither a rectangle nor a polygon."""
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
    # Clockwise about the top left corner, in pixels: a percent is longer one way than the other.
    sine, cosine, shape = math.sin(math.radians(degrees)), math.cos(math.radians(degrees)), size.width / size.height
    turned = [(right * width * shape, down * height) for right, down in _CORNERS]
    quad = [
        side
        for right, down in turned
        for side in (x + (right * cosine - down * sine) / shape, y + right * sine + down * cosine)
    ]
    return bounds(quad, where)


def _label(value: dict[str, Any], where: str) -> str:
    labels = next((value[key] for key in ("rectanglelabels", "polygonlabels", "labels") if value.get(key)), [OUTSIDE])
    if not (isinstance(labels, list) and len(labels) == 1 and isinstance(labels[0], str) and labels[0]):
        raise malformed(where, f"carries the labels {labels!r:.80}, expected one")
    return labels[0]


def _text(value: dict[str, Any]) -> str:
    texts = value.get("text", [])
    return " ".join(map(str, texts)) if isinstance(texts, list) else str(texts)


READER = _LabelStudio()
