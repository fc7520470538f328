"""CORD: photographed receipts annotated with 30 entity types (Park et al., 2019), version 1 or 2.

Files: `{train,dev,test}/json/receipt_NNNNN.json` and `image/receipt_NNNNN.png`. The picture may be missing; the page
size is `meta.image_size`. Each `valid_line` is one entity of its `category`, e.g. `menu.nm`. All its words belong to
it, also those that print the field's name (`is_key`), as in the LayoutLMv2 and LayoutLMv3 benchmarks. Words keep the
file's order, which is by field. A quad becomes its bounding box. Words without text are dropped; words with spaces
are split. `block` is the entity, `line` the printed row (`row_id`, from top to bottom), `group` the `group_id`: the
entities of one line item share it. The values of a document are those of `sub_total.*` and `total.*`, without the words
that print the field's name; items (`menu.*`) are tags only.
"""

import re
from collections.abc import Iterator
from typing import Any

from layoutray.document import Field, Word
from layoutray.document.tags import word_tag
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    PageWords,
    bounds,
    json_beside_pictures,
    json_object,
    malformed,
    member,
    numbers,
    objects,
    page_size,
)
from layoutray.readers.segments import split_words
from layoutray.store import sources

_SPLITS = {"train": "train", "dev": "dev", "test": "test"}
_CATEGORY = re.compile(r"[^\s.]+\.[^\s.]+")
_CORNERS = ("x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4")
_OF_RECEIPT = ("sub_total.", "total.")
_FieldWord = tuple[str, int, tuple[float, float, float, float]]
"""Text, row, and box in pixels."""


class _Cord:
    name = "cord"
    tags = "iob2"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        return json_beside_pictures(root, "json", "image", _SPLITS)

    def read(self, reference: DocumentRef) -> Truth:
        doc_id = sources.content_id(sources.read_bytes(reference.source))
        if not reference.annotation:
            return Truth(document=reference.document(doc_id), pages=())
        page, values = _collect(reference.annotation)
        return page.truth(reference.document(doc_id, fields=values), reference)


def _collect(uri: str) -> tuple[PageWords, list[Field]]:
    receipt = json_object(sources.read_bytes(uri), uri)
    page = PageWords(page_size(member(member(receipt, "meta", dict, uri), "image_size", dict, uri), uri))
    fields = [_field(entry, where) for where, entry in objects(receipt, "valid_line", uri)]
    rows = sorted({row for _, _, words, _ in fields for _, row, _ in words})
    for block, (category, group, words, _) in enumerate(fields):
        position = 0
        for index, (text, row, sides) in enumerate(words):
            if not text.strip():
                page.dropped += 1
                continue
            box = page.place(sides, f"{uri}, valid_line {block}, word {index} ({text!r:.40})")
            for part, place in split_words(text, box):
                tag = word_tag(category, position)
                page.words.append(Word(text=part, box=place, line=rows.index(row), block=block, tag=tag, group=group))
                position += 1
    values = [Field(name, value) for name, _, _, value in fields if name.startswith(_OF_RECEIPT) and value.strip()]
    return page, values


def _field(entry: dict[str, Any], where: str) -> tuple[str, int, list[_FieldWord], str]:
    """Category, group, words and value of an entry of `valid_line`."""
    category = member(entry, "category", str, where)
    if not _CATEGORY.fullmatch(category):
        raise malformed(where, f"`category` is {category!r:.40}, expected two names joined by a dot, e.g. menu.nm")
    words, value = list[_FieldWord](), list[str]()
    for place, word in objects(entry, "words", where, "word"):
        quad = member(word, "quad", dict, place)
        corners = numbers([quad.get(corner) for corner in _CORNERS], place, "quad", ", ".join(_CORNERS))
        text = member(word, "text", str, place)
        words.append((text, member(word, "row_id", int, place), bounds(corners, place)))
        if not word.get("is_key"):
            value.append(text)
    return category, member(entry, "group_id", int, where), words, " ".join(value)


READER = _Cord()
