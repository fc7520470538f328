"""FUNSD: noisy scanned forms with word-level entities (question, answer, header, other).

Files: `{training,testing}_data/annotations/<id>.json` and `images/<id>.png`. Entity labels become IOB2 tags of their
words; `other` becomes `O`. Words keep the file's order, as in the papers. Words without text (ticked boxes,
signatures) are dropped; the next word of the entity then begins it. Words with spaces are split, and the box is
divided in proportion to the characters. `block` is the entity, `line` a line of an entity.

Files that `layoutray export dataset --format funsd` has written state their document, size, lines and blocks. Their
labels are free, their words are taken as they are, and `validation_data` is dev.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from layoutray.document import Box, Word
from layoutray.document.tags import OUTSIDE, word_tag
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
    picture_size,
)
from layoutray.readers.datasets.exported import ORIGIN, add_words, one_page
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
                [
                    (member(word, "text", str, place), numbers(word.get("box"), place))
                    for place, word in objects(entity, "words", where, "word")
                ],
                where,
            )
            for where, entity in objects(content, "form", reference.annotation, "entity")
        ]
        if ORIGIN in content:
            return _exported(form, member(content, ORIGIN, dict, reference.annotation), reference)
        for entity in form:
            if entity.label not in LABELS:
                raise malformed(entity.where, f"`label` is {entity.label!r}, allowed: {', '.join(LABELS)}")
        boxes = (box for entity in form for _, box in entity.words)
        size = picture_size(data, reference.source) if reference.image else extent(boxes)
        return _collect(form, size).truth(document, reference)


@dataclass(frozen=True, slots=True)
class _Entity:
    """An entity: texts and boxes in pixels of its words, and its place in the file for messages."""

    label: str
    words: Sequence[tuple[str, list[float]]]
    where: str

    def tag(self, position: int) -> str:
        return word_tag(OUTSIDE if self.label == "other" else self.label, position)


def _exported(form: Sequence[_Entity], origin: dict[str, Any], reference: DocumentRef) -> Truth:
    where = reference.annotation
    tags = [entity.tag(position) for entity in form for position in range(len(entity.words))]
    texts = [text for entity in form for text, _ in entity.words]
    boxes = [box for entity in form for _, box in entity.words]
    page = PageWords(page_size(origin, where))
    add_words(page, texts, boxes, tags if origin.get("labelled") else [None] * len(tags), origin, where)
    return one_page(page, origin, replace(reference, source=member(origin, "source", str, where)), where)


def _collect(form: Sequence[_Entity], size: PageSize) -> PageWords:
    page = PageWords(size)
    line = -1
    for block, entity in enumerate(form):
        placed: list[tuple[str, Box]] = []
        for index, (text, sides) in enumerate(entity.words):
            if text.strip():
                placed += split_words(text, page.place(sides, f"{entity.where}, word {index} ({text!r:.40})"))
            else:
                page.dropped += 1
        starts = line_starts([box for _, box in placed])
        for index, ((text, box), begins) in enumerate(zip(placed, starts, strict=True)):
            line += begins
            page.words.append(Word(text=text, box=box, line=line, block=block, tag=entity.tag(index)))
    return page


READER = _Funsd()
