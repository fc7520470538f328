"""Label Studio: labelled pages of a project, exported in the format JSON.

Files: every `*.json` below the root, a list of tasks with their annotations (`label_studio_tasks`); a task is a page,
or several. A rectangle or polygon with a transcription (a text area of the region) is a word, or several if the
transcription has spaces. One without a transcription is an area and labels the words inside it. Boxes are percentages
in full float precision, so that unchanged boxes are read back exactly. A rotated box becomes its bounding box. Regions
that relations join are one record. Each labelled entity is also a value of its document. The latest annotation of a
page that is not cancelled counts, also when the page was imported twice. A page without annotation becomes a dead
letter, `not_annotated`.

Tasks made by `layoutray export label-studio` contain their document, page and split, and the order, lines and
entities of their words; the picture that they name is used if it is below the root, or below the folders of the recipe
key `pictures`. Every other task is a document of its own; its picture is searched below the root.
"""

import json
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from layoutray.document import Field, Page
from layoutray.document.tags import OUTSIDE, are_entity_tags, kind_of, spans
from layoutray.errors import DocumentError, Reason
from layoutray.readers import DocumentRef, Reader, Truth
from layoutray.readers.annotation import (
    PageSize,
    PageWords,
    bounds,
    file_name,
    json_uri,
    json_value,
    malformed,
    nothing_found,
    numbers,
    page_size,
    truth_of_pages,
)
from layoutray.readers.datasets.regions import AnnotatedRegion, words_of
from layoutray.readers.named_pictures import NamedPictures
from layoutray.readers.own.label_studio_tasks import TaskPage, pages_of, with_pictures
from layoutray.readers.picture_sizes import picture_size
from layoutray.store import sources

_WORD = re.compile(r"word-(\d+)(?:#.*)?")
_CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1))


@dataclass(frozen=True, slots=True)
class _LabelStudio:
    pictures: Sequence[str] = ()

    name = "label_studio"
    tags = "iob2"

    def with_pictures(self, folders: Sequence[str]) -> Reader:
        return _LabelStudio(folders)

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = list(sources.list_files(root))
        exports = [uri for uri in files if file_name(uri).suffix.lower() == ".json"]
        if not exports:
            raise nothing_found(root, "NAME.json, a project's export in Label Studio's format JSON")
        documents: dict[str, dict[int, TaskPage]] = defaultdict(dict)
        named = NamedPictures((root, *self.pictures))
        tasks = [page for uri in exports for page in pages_of(uri)]
        for task in with_pictures([replace(page, image=named.usable(page.image)) for page in tasks], files):
            pages = documents[task.document]
            if task.number not in pages or pages[task.number].stamp <= task.stamp:
                pages[task.number] = task
        named.warn()
        for key, pages in documents.items():
            first, images = pages[min(pages)], {page.image for page in pages.values()}
            image = first.image if len(images) == 1 else ""
            source = first.origin.get("source") or image or first.where
            annotation = json_uri([asdict(pages[number]) for number in sorted(pages)], ascii_only=True)
            yield DocumentRef(
                key=key, source=source, image=image, annotation=annotation, split=first.origin.get("split", "")
            )

    def read(self, reference: DocumentRef) -> Truth:
        values = json_value(sources.read_bytes(reference.annotation), reference.source)
        tasks = [TaskPage(**value) for value in values]
        doc_id = tasks[0].origin.get("doc_id") or _content_id(tasks)
        pages: list[Page] = []
        collected: list[PageWords] = []
        failures: dict[int, DocumentError] = {}
        for task in tasks:
            try:
                size = _size(task)
                words = _collect(task, size)
                page = words.page(doc_id, reference, task.number, size)
            except DocumentError as error:
                failures[task.number] = error
            else:
                pages.append(replace(page, image=task.image))
                collected.append(words)
        document = reference.document(doc_id, max(task.number for task in tasks), _fields(pages))
        return truth_of_pages(document, pages, collected, failures)


def _content_id(tasks: Sequence[TaskPage]) -> str:
    """Identity of a document from elsewhere: that of its pictures, or of what the task shows if one is missing."""
    if all(task.image for task in tasks):
        return sources.content_id(b"".join(sources.read_bytes(task.image) for task in tasks))
    return sources.content_id(json.dumps(tasks[0].data, sort_keys=True).encode())


def _fields(pages: Sequence[Page]) -> Iterator[Field]:
    """The labelled entities as values of their document, each once."""
    tagged = [(page.words, [word.tag for word in page.words]) for page in pages]
    yield from dict.fromkeys(
        Field(name, " ".join(word.text for word in words[start:end]))
        for words, tags in tagged
        if are_entity_tags(tags)
        for name, start, end in spans(tags)
    )


def _collect(task: TaskPage, size: PageSize) -> PageWords:
    """The annotated words of a page of `size` pixels, in shares of the page."""
    page = PageWords(PageSize(1, 1))
    page.words, unused = words_of(_regions(task, size, page))
    page.dropped += unused
    if task.origin.get("tags") == "region":
        page.words = [
            replace(word, tag=None if word.tag == OUTSIDE else kind_of(word.tag or "")) for word in page.words
        ]
    return page


def _size(task: TaskPage) -> PageSize:
    """The page's size in pixels. Raises DocumentError if the page cannot be read, or is not annotated."""
    if task.fault:
        raise malformed(task.where, task.fault)
    if task.result is None:
        message = f"page {task.number} of {task.where} is not annotated, or its annotation was cancelled"
        raise DocumentError(Reason.NOT_ANNOTATED, message, stage="annotation")
    if task.origin:
        return page_size(task.origin, task.where)
    for entry in task.result:
        if isinstance(entry, dict) and "original_width" in entry:
            return page_size({side: entry.get(f"original_{side}") for side in ("width", "height")}, task.where)
    return picture_size(sources.read_bytes(task.image), task.image) if task.image else PageSize(1, 1)


def _regions(task: TaskPage, size: PageSize, page: PageWords) -> list[AnnotatedRegion]:
    """The regions of an annotation, each merged from its results.

    Regions without a rectangle or polygon, or with a wrong value, count as dropped in `page`.
    """
    parts: dict[str, dict[str, Any]] = defaultdict(dict)
    results = task.result or []
    for entry in results:
        if isinstance(entry, dict) and isinstance(entry.get("value"), dict) and "id" in entry:
            if angle := entry.get("image_rotation"):
                raise malformed(task.where, f"the picture is rotated by {angle} degrees; reset it in Label Studio")
            parts[str(entry["id"])] |= entry["value"]
    groups = _groups(results, list(parts))
    regions: list[AnnotatedRegion] = []
    for index, (name, value) in enumerate(parts.items()):
        where = f"{task.where}, region {name}"
        label, more = _label(value, where), _word_data(name, task.origin, index)
        with page.dropping():
            sides = _sides(value, size, where)
            if sides is None:
                page.dropped += 1
                continue
            # Rounding to 32-bit floats restores the exported values exactly.
            box = page.place(array("f", [side / 100 for side in sides]), where)
            text = _transcription(value, where)
            regions.append(AnnotatedRegion(box=box, label=label, text=text, group=groups.get(name), **more))
    return regions


def _transcription(value: dict[str, Any], where: str) -> str:
    """The text of a region; empty if it has none."""
    stated = value.get("text") or []
    texts = stated if isinstance(stated, list) else [stated]
    if not all(isinstance(text, str) for text in texts):
        raise malformed(where, f"`text` is {stated!r:.80}, expected a text or a list of texts")
    return " ".join(texts)


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
