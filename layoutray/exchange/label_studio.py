"""Label Studio: pages as tasks to label, with what is known of them as pre-annotation, and the labelling interface to go with them.

A task is a page. Each word is a rectangle with a label (`O` outside entities) and its text as a transcription of the region, under one
id. Rectangles are in percent of the page, as full floats. What Label Studio has no place for (the document, the order, lines and
entities of the words) goes with the task's data, which it hands back as it is; `layoutray.readers.label_studio` reads it.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from layoutray.document import Page
from layoutray.document.tags import OUTSIDE, hold_entities, spans
from layoutray.errors import InputError
from layoutray.store import sources

LOCAL_FILES = "/data/local-files/?d="
"""Before the path of a file on its own disks, below the folder LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT."""
_SHOWN = frozenset({".png", ".jpg", ".jpeg"})


@dataclass(frozen=True, slots=True)
class Mark:
    """Words that are one entity.

    Attributes:
        words: their numbers on the page.
        score: 0..1 from a model; None for what a person has marked.
    """

    label: str
    words: tuple[int, ...]
    score: float | None = None


def marks_of(page: Page) -> tuple[Mark, ...]:
    """What a page's own tags mark: entities, or each word of a region for itself."""
    tags = [word.tag for word in page.words]
    if hold_entities(tags):
        return tuple(Mark(label, tuple(range(start, end))) for label, start, end in spans(tags))
    return tuple(Mark(tag, (number,)) for number, tag in enumerate(tags) if tag is not None)


def task(page: Page, marks: Sequence[Mark], picture: str, model: str) -> dict[str, Any]:
    """One page as a task with a prediction, ready for `json.dumps`.

    Args:
        marks: share no word; the score of the prediction is that of the least sure, so that Label Studio can show doubtful pages first.
        picture: URL that the browser gets the page's picture from.
        model: whose prediction it is.
    """
    owners = {word: number for number, mark in enumerate(marks) for word in mark.words}
    results = [
        result
        for number in range(len(page.words))
        for result in _results(page, number, marks[owners[number]] if number in owners else None)
    ]
    prediction: dict[str, Any] = {"model_version": model, "result": results}
    if scores := [mark.score for mark in marks if mark.score is not None]:
        prediction["score"] = min(scores)
    return {"data": {"image": picture, "layoutray": _origin(page, owners)}, "predictions": [prediction]}


def labelling_interface(labels: Iterable[str]) -> str:
    """The XML for a project's Labeling Interface, Code: the labels, `O` last, and a transcription of each region."""
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Image", name="image", value="$image", zoom="true")
    choices = ElementTree.SubElement(view, "RectangleLabels", name="label", toName="image")
    for label in (*labels, OUTSIDE):
        ElementTree.SubElement(choices, "Label", value=label)
    ElementTree.SubElement(
        view,
        "TextArea",
        name="transcription",
        toName="image",
        editable="true",
        perRegion="true",
        maxSubmissions="1",
        displayMode="region-list",
    )
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def can_be_shown(page: Page) -> bool:
    """Whether browsers show the page's picture as it is: those of PDF and TIFF files they do not."""
    return PurePosixPath(page.image).suffix.lower() in _SHOWN


def picture_url(uri: str, root: str, prefix: str) -> str:
    """Where the browser gets a picture: addresses stay as they are, of a local file it is `prefix` and the path below `root`.

    Raises:
        InputError: when the file does not lie below `root`.
    """
    local, served = sources.local_path(uri), sources.local_path(root)
    if local is None:
        return uri
    if served is None or not local.is_relative_to(served):
        raise InputError(f"picture {uri} does not lie below {root}; give the folder that Label Studio serves as --root")
    return prefix + quote(os.fsencode(local.relative_to(served)))


def _results(page: Page, number: int, mark: Mark | None) -> Iterable[Mapping[str, Any]]:
    word = page.words[number]
    place = {
        "x": 100 * word.box.x0,
        "y": 100 * word.box.y0,
        "width": 100 * (word.box.x1 - word.box.x0),
        "height": 100 * (word.box.y1 - word.box.y0),
        "rotation": 0,
    }
    shared = {
        "id": f"word-{number}",
        "to_name": "image",
        "original_width": page.width,
        "original_height": page.height,
        "image_rotation": 0,
    }
    label: dict[str, Any] = {
        "from_name": "label",
        "type": "rectanglelabels",
        "value": {**place, "rectanglelabels": [mark.label if mark else OUTSIDE]},
    }
    if mark and mark.score is not None:
        label["score"] = mark.score
    return shared | label, shared | {
        "from_name": "transcription",
        "type": "textarea",
        "value": {**place, "text": [word.text]},
    }


def _origin(page: Page, owners: Mapping[int, int]) -> dict[str, Any]:
    tags = [word.tag for word in page.words]
    return {
        "doc_id": page.doc_id,
        "page": page.number,
        "split": page.split,
        "source": page.source,
        "image": page.image,
        "width": page.width,
        "height": page.height,
        "tags": "region" if any(tag is not None for tag in tags) and not hold_entities(tags) else "iob2",
        "lines": [word.line for word in page.words],
        "blocks": [word.block for word in page.words],
        "entities": [owners.get(number) for number in range(len(page.words))],
    }
