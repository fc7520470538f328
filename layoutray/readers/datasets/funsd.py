"""FUNSD: noisy scanned forms with word-level entities (question, answer, header, other).

Files: `{training,testing}_data/annotations/<id>.json` and `images/<id>.png`. Entity labels become IOB2 tags of their
words; `other` becomes `O`. Words keep the file's order, as in the papers. Words without text (ticked boxes,
signatures) or with a wrong value are dropped; the next word of the entity then begins it. Words with spaces are split,
and the box is divided in proportion to the characters. `block` is the entity, `line` a line of an entity.

Files that `layoutray export dataset --format funsd` has written state their document, size, lines and blocks. Their
labels are free, their words are taken as they are, and `validation_data` is dev.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from layoutray.document import Box, Word
from layoutray.document.tags import OUTSIDE, word_tag
from layoutray.errors import DocumentError
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
    objects,
    page_size,
)
from layoutray.readers.datasets.exported import ORIGIN, add_words, one_page
from layoutray.readers.picture_sizes import picture_size
from layoutray.readers.segments import line_starts, split_words
from layoutray.store import sources

LABELS = ("question", "answer", "header", "other")
_SPLITS = {"training_data": "train", "validation_data": "dev", "testing_data": "test"}


class _Funsd:
    name = "funsd"
    tags = "iob2"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        return json_beside_pictures(root, "annotations", "images", _SPLITS)

    def read(self, reference: DocumentRef) -> Truth:
        data = sources.read_bytes(reference.source)
        document = reference.document(sources.content_id(data))
        if not reference.annotation:
            return Truth(document=document, pages=())
        content = json_object(sources.read_bytes(reference.annotation), reference.annotation)
        form = [
            _Entity(
                member(entity, "label", str, where),
                [_Word(word, place) for place, word in objects(entity, "words", where, "word")],
                where,
            )
            for where, entity in objects(content, "form", reference.annotation, "entity")
        ]
        if ORIGIN in content:
            return _exported(form, member(content, ORIGIN, dict, reference.annotation), reference)
        for entity in form:
            if entity.label not in LABELS:
                raise malformed(entity.where, f"`label` is {entity.label!r}, allowed: {', '.join(LABELS)}")
        size = picture_size(data, reference.source) if reference.image else extent(_finite_boxes(form))
        return _collect(form, size).truth(document, reference)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as it stands in the file. Its text and box raise DocumentError if they violate the format."""

    stated: dict[str, Any]
    where: str

    @property
    def text(self) -> str:
        return member(self.stated, "text", str, self.where)

    @property
    def box(self) -> list[float]:
        """x0, y0, x1, y1 in pixels."""
        return numbers(self.stated.get("box"), self.where)


@dataclass(frozen=True, slots=True)
class _Entity:
    """An entity, and its place in the file for messages."""

    label: str
    words: Sequence[_Word]
    where: str

    def tag(self, position: int) -> str:
        return word_tag(OUTSIDE if self.label == "other" else self.label, position)


def _finite_boxes(form: Sequence[_Entity]) -> Iterator[list[float]]:
    for word in (word for entity in form for word in entity.words):
        with suppress(DocumentError):
            if all(map(math.isfinite, word.box)):
                yield word.box


def _exported(form: Sequence[_Entity], origin: dict[str, Any], reference: DocumentRef) -> Truth:
    where = reference.annotation
    tags = [entity.tag(position) for entity in form for position in range(len(entity.words))]
    texts = [word.text for entity in form for word in entity.words]
    boxes = [word.box for entity in form for word in entity.words]
    page = PageWords(page_size(origin, where))
    add_words(page, texts, boxes, tags if origin.get("labelled") else [None] * len(tags), origin, where)
    return one_page(page, origin, replace(reference, source=member(origin, "source", str, where)), where)


def _collect(form: Sequence[_Entity], size: PageSize) -> PageWords:
    page = PageWords(size)
    line = -1
    for block, entity in enumerate(form):
        placed: list[tuple[str, Box]] = []
        for word in entity.words:
            with page.dropping():
                if word.text.strip():
                    placed += split_words(word.text, page.place(word.box, f"{word.where} ({word.text!r:.40})"))
                else:
                    page.dropped += 1
        starts = line_starts([box for _, box in placed])
        for index, ((text, box), begins) in enumerate(zip(placed, starts, strict=True)):
            line += begins
            page.words.append(Word(text=text, box=box, line=line, block=block, tag=entity.tag(index)))
    return page


READER = _Funsd()
