"""Export to Label Studio: pages as labelling tasks with pre-annotations, and the labelling interface.

A task is a page. Each word is a region with one id: a rectangle with a label (`O` outside entities) and a
transcription. A word that only contains an entity is split into up to three regions. Rectangles are in percent of the
page, in full float precision. Relations join the first words of the entities of one record, each with the next. The
task's data also holds what Label Studio cannot represent (document, order, lines and entities of the words). Label
Studio returns it unchanged, and `layoutray.readers.own.label_studio` reads it.
"""

import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from layoutray.document import Page, Word
from layoutray.document.tags import OUTSIDE, are_entity_tags, spans
from layoutray.errors import InputError
from layoutray.formats.entity_json import ORIGIN, page_origin
from layoutray.store import sources

LOCAL_FILES = "/data/local-files/?d="
"""URL prefix of local files below the folder LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT."""
_BROWSER_FORMATS = frozenset({".png", ".jpg", ".jpeg"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSpan:
    """Words that form one entity.

    Attributes:
        words: indices of the words on the page.
        score: confidence of the model, 0..1; None for an annotation.
        content: the entity's text, if it is a part of its words; None for whole words.
        record: entities of the page that have the same one form a record; None for an entity of none.
    """

    label: str
    words: tuple[int, ...]
    score: float | None = None
    content: str | None = None
    record: Hashable = None


def spans_of(page: Page) -> tuple[LabelledSpan, ...]:
    """The spans of a page's own tags: one for each entity, or one for each word with a region label."""
    tags = [word.tag for word in page.words]
    if are_entity_tags(tags):
        return tuple(
            LabelledSpan(label=label, words=tuple(range(start, end)), record=page.words[start].group)
            for label, start, end in spans(tags)
        )
    return tuple(LabelledSpan(label=tag, words=(index,)) for index, tag in enumerate(tags) if tag is not None)


def task(page: Page, entities: Sequence[LabelledSpan], picture: str, model: str) -> dict[str, Any]:
    """One page as a task with a prediction, for `json.dumps`.

    Args:
        entities: spans that do not overlap. The prediction's score is the lowest of their scores, so that Label Studio
            can show the least certain pages first.
        picture: URL of the page's picture.
        model: name and version of the model that predicted.
    """
    page, entities = _split(page, entities)
    owners = {word: number for number, entity in enumerate(entities) for word in entity.words}
    results = [
        result
        for number in range(len(page.words))
        for result in _results(page, number, entities[owners[number]] if number in owners else None)
    ]
    prediction: dict[str, Any] = {"model_version": model, "result": [*results, *_relations(entities)]}
    if scores := [entity.score for entity in entities if entity.score is not None]:
        prediction["score"] = min(scores)
    return {"data": {"image": picture, ORIGIN: _origin(page, owners)}, "predictions": [prediction]}


def labelling_interface(labels: Iterable[str]) -> str:
    """The XML for a project's Labeling Interface: the labels, `O` last, and a transcription for each region."""
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


def browser_can_show(page: Page) -> bool:
    """Whether browsers can show the page's picture file. They cannot show PDF and TIFF files."""
    return PurePosixPath(page.image).suffix.lower() in _BROWSER_FORMATS


def picture_url(uri: str, root: str, prefix: str) -> str:
    """URL of a picture: a remote URI stays unchanged; a local file becomes `prefix` and its path below `root`.

    Raises:
        InputError: when the file is not below `root`.
    """
    local, served = sources.local_path(uri), sources.local_path(root)
    if local is None:
        return uri
    if served is None or not (is_below(uri, root)):
        common = f", e.g. {os.path.commonpath((local, served))}" if served else ""
        raise InputError(
            f"picture {uri} is not below {root}; give --root a folder that has both{common}, "
            "and let Label Studio serve it"
        )
    return prefix + quote(os.fsencode(local.resolve().relative_to(served.resolve())))


def is_below(uri: str, root: str) -> bool:
    """Whether a local file or folder is in the local folder `root`, whatever links lead to them."""
    local, served = sources.local_path(uri), sources.local_path(root)
    return local is not None and served is not None and local.resolve().is_relative_to(served.resolve())


def _split(page: Page, entities: Sequence[LabelledSpan]) -> tuple[Page, list[LabelledSpan]]:
    """The page with each entity as words of its own, and the entities as spans of these words."""
    spans_in_page = [_characters(page, entity) for entity in entities]
    cuts = [{0, len(word.text)} for word in page.words]
    for entity, (start, end) in zip(entities, spans_in_page, strict=True):
        cuts[entity.words[0]].add(start)
        cuts[entity.words[-1]].add(end)
    words: list[Word] = []
    first_piece: dict[tuple[int, int], int] = {}
    last_piece: dict[tuple[int, int], int] = {}
    for number, word in enumerate(page.words):
        for start, end in pairwise(sorted(cuts[number])):
            first_piece[number, start] = last_piece[number, end] = len(words)
            words.append(word.part(start, end))
    split = [
        replace(entity, words=tuple(range(first_piece[entity.words[0], start], last_piece[entity.words[-1], end] + 1)))
        for entity, (start, end) in zip(entities, spans_in_page, strict=True)
    ]
    return replace(page, words=tuple(words)), split


def _characters(page: Page, entity: LabelledSpan) -> tuple[int, int]:
    """Where the entity starts in its first word, and where it ends in its last."""
    texts = [page.words[number].text for number in entity.words]
    before_last = len(" ".join([*texts[:-1], ""]))
    start = " ".join(texts).find(entity.content or "")
    end = start + len(entity.content or "") - before_last
    inside = 0 <= start < len(texts[0]) and 0 < end <= len(texts[-1])
    return (start, end) if inside else (0, len(texts[-1]))


def _results(page: Page, number: int, entity: LabelledSpan | None) -> Iterable[Mapping[str, Any]]:
    word = page.words[number]
    rectangle = {
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
        "value": {**rectangle, "rectanglelabels": [entity.label if entity else OUTSIDE]},
    }
    if entity and entity.score is not None:
        label["score"] = entity.score
    return shared | label, shared | {
        "from_name": "transcription",
        "type": "textarea",
        "value": {**rectangle, "text": [word.text]},
    }


def _relations(entities: Sequence[LabelledSpan]) -> Iterator[Mapping[str, Any]]:
    records: defaultdict[Hashable, list[int]] = defaultdict(list)
    for entity in entities:
        if entity.record is not None:
            records[entity.record].append(entity.words[0])
    for first, second in (pair for words in records.values() for pair in pairwise(words)):
        yield {"type": "relation", "from_id": f"word-{first}", "to_id": f"word-{second}", "direction": "right"}


def _origin(page: Page, owners: Mapping[int, int]) -> dict[str, Any]:
    tags = [word.tag for word in page.words]
    return page_origin(page) | {
        "split": page.split,
        "image": page.image,
        "tags": "region" if any(tag is not None for tag in tags) and not are_entity_tags(tags) else "iob2",
        "entities": [owners.get(number) for number in range(len(page.words))],
    }
