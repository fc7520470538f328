"""Read generated receipts, invoices and forms, in the format of `layoutray.synthetic.render`."""

from collections.abc import Iterator
from typing import Any

from layoutray.document import Field, Word
from layoutray.document.page import check_doc_id
from layoutray.document.tags import split_tag
from layoutray.errors import InputError
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    PageSize,
    PageWords,
    file_name,
    json_object,
    malformed,
    member,
    nothing_found,
    numbers,
    objects,
    page_size,
    truth_of_pages,
)
from layoutray.readers.picture_sizes import picture_size
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
        images = {file_name(uri).stem: uri for uri in sources.list_files(sources.join(root, "images"))}
        for key in sorted(splits):
            check_doc_id(key)  # it is a part of paths
            image = images.get(key) or sources.join(root, "images", f"{key}.png")
            yield DocumentRef(
                key=key,
                source=image,
                image=image,
                annotation=sources.join(root, "annotations", f"{key}.json"),
                split=splits[key],
            )

    def read(self, reference: DocumentRef) -> Truth:
        data = sources.read_bytes(reference.source)
        where = reference.annotation
        annotation = json_object(sources.read_bytes(where), where)
        fields = member(annotation, "fields", dict, where)
        values = [Field(name, member(fields, name, str, where)) for name in fields]
        if "words" in annotation:
            page = _words(annotation, picture_size(data, reference.source), where)
            return page.truth(reference.document(sources.content_id(data), fields=values), reference)
        pages = [
            _words(one, page_size(one, place), place) for place, one in objects(annotation, "pages", where, "page")
        ]
        document = reference.document(sources.content_id(data), len(pages), values)
        numbered = enumerate(pages, 1)
        return truth_of_pages(document, [one.page(document.doc_id, reference, at) for at, one in numbered], pages)


def _words(annotation: dict[str, Any], size: PageSize, where: str) -> PageWords:
    page = PageWords(size)
    for place, word in objects(annotation, "words", where, "word"):
        text, tag = member(word, "text", str, place), member(word, "tag", str, place)
        try:
            split_tag(tag)
        except InputError as error:
            raise malformed(place, str(error)) from error
        box = page.place(numbers(word.get("box"), place), f"{place} ({text!r:.40})")
        group = member(word, "group", int, place) if "group" in word else None
        page.words.append(Word(text=text, box=box, line=member(word, "line", int, place), tag=tag, group=group))
    return page


READER = _Synthetic()
