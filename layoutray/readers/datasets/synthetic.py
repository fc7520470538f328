"""Read generated receipts, invoices and forms, in the format of `layoutray.synthetic.render`."""

from collections.abc import Iterator
from typing import Any

from layoutray.document import Document, Field, Word
from layoutray.document.tags import split_tag
from layoutray.errors import InputError
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    PageSize,
    PageWords,
    json_object,
    malformed,
    member,
    nothing_found,
    numbers,
    picture_size,
)
from layoutray.store import sources

_SPLITS = ("train", "dev", "test")


class _Synthetic:
    name = "synthetic"
    tags = "iob2"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        uri = sources.join(root, "index.json")
        if not sources.exists(uri):
            raise nothing_found(root, "index.json, images/ and annotations/, as written by render_set")
        index = json_object(sources.read_bytes(uri), uri)
        splits = {key: split for split in _SPLITS for key in member(index, split, list, uri)}
        if not splits:
            raise nothing_found(root, "index.json that names pages")
        for key in sorted(splits):
            image = sources.join(root, "images", f"{key}.png")
            yield DocumentRef(key, image, image, sources.join(root, "annotations", f"{key}.json"), splits[key])

    def read(self, item: DocumentRef) -> Truth:
        data = sources.read_bytes(item.source)
        doc_id = sources.content_id(data)
        size = picture_size(data, item.source)
        where = item.annotation
        annotation = json_object(sources.read_bytes(where), where)
        collected = _collect(member(annotation, "words", list, where), size, where)
        fields = member(annotation, "fields", dict, where)
        values = tuple(Field(name, member(fields, name, str, where)) for name in fields)
        document = Document(doc_id, item.source, item.split, num_pages=1, fields=values)
        return collected.truth(document, item)


def _collect(words: list[Any], size: PageSize, where: str) -> PageWords:
    page = PageWords(size)
    for index, word in enumerate(words):
        place = f"{where}, word {index}"
        if not isinstance(word, dict):
            raise malformed(place, f"is {word!r:.80}, expected an object")
        text, tag = member(word, "text", str, place), member(word, "tag", str, place)
        box = page.place(numbers(word.get("box"), place), f"{place} ({text!r:.40})")
        line, group = member(word, "line", int, place), member(word, "group", int, place) if "group" in word else None
        page.words.append(Word(text, box, line=line, tag=_checked(tag, place), group=group))
    return page


def _checked(tag: str, where: str) -> str:
    try:
        split_tag(tag)
    except InputError as error:
        raise malformed(where, str(error)) from error
    return tag


READER = _Synthetic()
