"""CORD: photographed receipts annotated with 30 entity types (Park et al., 2019), version 1 or 2.

Files: `{train,dev,test}/json/receipt_NNNNN.json` and `image/receipt_NNNNN.png`. The picture may be missing; the page
size is `meta.image_size`. Each `valid_line` is one entity of its `category`, e.g. `menu.nm`. All its words belong to
it, also those that print the field's name (`is_key`), as in the LayoutLMv2 and LayoutLMv3 benchmarks. Words keep the
file's order, which is by field. A quad becomes its bounding box. Words without text are dropped; words with spaces
are split. `block` is the entity, `line` the printed row (`row_id`, from top to bottom), `group` the `group_id`: the
entities of one line item share it.
"""

import re
from collections.abc import Iterator
from typing import Any

from layoutray.document import Document, Word
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    PageWords,
    bounds,
    json_beside_pictures,
    json_object,
    malformed,
    member,
    numbers,
    page_size,
)
from layoutray.readers.segments import split_words
from layoutray.store import sources

_SPLITS = {"train": "train", "dev": "dev", "test": "test"}
_CATEGORY = re.compile(r"[^\s.]+\.[^\s.]+")
_CORNERS = ("x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4")


class _Cord:
    name = "cord"
    tags = "iob2"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        return json_beside_pictures(root, "json", "image", _SPLITS)

    def read(self, item: DocumentRef) -> Truth:
        doc_id = sources.content_id(sources.read_bytes(item.source))
        document = Document(doc_id, item.source, item.split, num_pages=1)
        if not item.annotation:
            return Truth(document, pages=())
        collected = _collect(item.annotation)
        return collected.truth(document, item)


_Word = tuple[str, int, tuple[float, float, float, float]]
"""Text, row, and box in pixels."""


def _collect(uri: str) -> PageWords:
    receipt = json_object(sources.read_bytes(uri), uri)
    page = PageWords(page_size(member(member(receipt, "meta", dict, uri), "image_size", dict, uri), uri))
    fields = [
        _field(field, f"{uri}, valid_line {index}")
        for index, field in enumerate(member(receipt, "valid_line", list, uri))
    ]
    rows = sorted({row for _, _, words in fields for _, row, _ in words})
    for block, (category, group, words) in enumerate(fields):
        begins = True
        for index, (text, row, sides) in enumerate(words):
            if not text.strip():
                page.dropped += 1
                continue
            box = page.place(sides, f"{uri}, valid_line {block}, word {index} ({text!r:.40})")
            for part, place in split_words(text, box):
                tag = f"{'B' if begins else 'I'}-{category}"
                page.words.append(Word(part, place, line=rows.index(row), block=block, tag=tag, group=group))
                begins = False
    return page


def _field(field: object, where: str) -> tuple[str, int, list[_Word]]:
    """Category, group and words of an entry of `valid_line`."""
    if not isinstance(field, dict):
        raise malformed(where, f"is {field!r:.80}, expected an object")
    category = member(field, "category", str, where)
    if not _CATEGORY.fullmatch(category):
        raise malformed(where, f"`category` is {category!r:.40}, expected two names joined by a dot, e.g. menu.nm")
    words = [_word(word, f"{where}, word {index}") for index, word in enumerate(member(field, "words", list, where))]
    return category, member(field, "group_id", int, where), words


def _word(word: Any, where: str) -> _Word:
    if not isinstance(word, dict):
        raise malformed(where, f"is {word!r:.80}, expected an object")
    quad = member(word, "quad", dict, where)
    corners = numbers([quad.get(corner) for corner in _CORNERS], where, "quad", ", ".join(_CORNERS))
    return member(word, "text", str, where), member(word, "row_id", int, where), bounds(corners, where)


READER = _Cord()
