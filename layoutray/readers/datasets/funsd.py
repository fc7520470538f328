"""FUNSD: noisy scanned forms with word-level entities (question, answer, header, other).

Files: `{training,testing}_data/annotations/<id>.json` and `images/<id>.png`. Entity labels become IOB2 tags of their
words; `other` becomes `O`. Words keep the file's order, as in the papers. Words without text (ticked boxes,
signatures) are dropped; the next word of the entity then begins it. Words with spaces are split, and the box is
divided in proportion to the characters. `block` is the entity, `line` a line of an entity.

Files that `layoutray export dataset --format funsd` has written state their document, size, lines and blocks. Their
labels are free, their words are taken as they are, and `validation_data` is dev.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from layoutray.document import Box, Document, Word
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    PageSize,
    PageWords,
    extent,
    json_beside_pictures,
    json_object,
    malformed,
    member,
    numbers,
    picture_size,
)
from layoutray.readers.datasets.exported import ORIGIN, add_words, one_page, size_of
from layoutray.readers.segments import line_starts, split_words
from layoutray.store import sources

LABELS = ("question", "answer", "header", "other")
_SPLITS = {"training_data": "train", "validation_data": "dev", "testing_data": "test"}


class _Funsd:
    name = "funsd"
    tags = "iob2"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        return json_beside_pictures(root, "annotations", "images", _SPLITS)

    def read(self, item: DocumentRef) -> Truth:
        if item.annotation and ORIGIN in (content := json_object(sources.read_bytes(item.annotation), item.annotation)):
            return _exported(content, item)
        data = sources.read_bytes(item.source)
        doc_id = sources.content_id(data)
        document = Document(doc_id, item.source, item.split, num_pages=1)
        if not item.annotation:
            return Truth(document, pages=())
        form = _form(item.annotation)
        size = (
            picture_size(data, item.source) if item.image else extent(box for _, words, _ in form for _, box in words)
        )
        collected = _collect(form, size)
        return collected.truth(document, item)


_Entity = tuple[str, list[tuple[str, list[float]]], str]
"""Label, words with their boxes in pixels, and the place in the file for error messages."""


def _exported(content: dict[str, Any], item: DocumentRef) -> Truth:
    where, origin = item.annotation, member(content, ORIGIN, dict, item.annotation)
    form = _entities(content, where)
    tags = [_tag(label, index) for label, words, _ in form for index in range(len(words))]
    texts = [text for _, words, _ in form for text, _ in words]
    page = PageWords(size_of(origin, where))
    boxes = [sides for _, words, _ in form for _, sides in words]
    add_words(page, texts, boxes, tags if origin.get("labelled") else [None] * len(tags), origin, where)
    return one_page(page, origin, replace(item, source=member(origin, "source", str, where)), where)


def _form(uri: str) -> list[_Entity]:
    form = _entities(json_object(sources.read_bytes(uri), uri), uri)
    for label, _, where in form:
        if label not in LABELS:
            raise malformed(where, f"`label` is {label!r}, allowed: {', '.join(LABELS)}")
    return form


def _entities(content: dict[str, Any], uri: str) -> list[_Entity]:
    entities = member(content, "form", list, uri)
    return [_entity(entity, f"{uri}, entity {index}") for index, entity in enumerate(entities)]


def _entity(entity: object, where: str) -> _Entity:
    if not isinstance(entity, dict):
        raise malformed(where, f"is {entity!r:.80}, expected an object")
    label = member(entity, "label", str, where)
    words = member(entity, "words", list, where)
    return label, [_word(word, f"{where}, word {index}") for index, word in enumerate(words)], where


def _word(word: Any, where: str) -> tuple[str, list[float]]:
    if not isinstance(word, dict):
        raise malformed(where, f"is {word!r:.80}, expected an object")
    return member(word, "text", str, where), numbers(word.get("box"), where)


def _collect(form: list[_Entity], size: PageSize) -> PageWords:
    page = PageWords(size)
    line = -1
    for block, (label, words, where) in enumerate(form):
        placed: list[tuple[str, Box]] = []
        for index, (text, sides) in enumerate(words):
            if text.strip():
                placed += split_words(text, page.place(sides, f"{where}, word {index} ({text!r:.40})"))
            else:
                page.dropped += 1
        starts = line_starts([box for _, box in placed])
        for index, ((text, box), begins) in enumerate(zip(placed, starts, strict=True)):
            line += begins
            page.words.append(Word(text, box, line=line, block=block, tag=_tag(label, index)))
    return page


def _tag(label: str, index: int) -> str:
    if label == "other":
        return "O"
    return f"{'I' if index else 'B'}-{label}"


READER = _Funsd()
