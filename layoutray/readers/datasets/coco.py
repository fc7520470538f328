"""COCO with words, as `layoutray export dataset --format coco` writes it: a box for each entity, with its words.

Files: `annotations/{train,dev,test}.json` and the pictures in `images/`. An image lists its `words` with boxes in
pixels, and an annotation the numbers of the words that it covers. Files without words are not read.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from layoutray.document.tags import Span, to_iob2
from layoutray.errors import InputError
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    PageWords,
    file_name,
    folder_of,
    json_object,
    json_uri,
    malformed,
    member,
    nothing_found,
    numbers,
    objects,
    page_size,
)
from layoutray.readers.datasets.exported import ORIGIN, add_words, one_page
from layoutray.store import sources

_SPLITS = ("train", "dev", "test")


class _Coco:
    name = "coco"
    tags = "iob2"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = [uri for uri in sources.list_files(root) if file_name(uri).suffix == ".json"]
        files = [uri for uri in files if file_name(uri).stem in _SPLITS]
        if not files:
            raise nothing_found(root, f"annotations/{{{','.join(_SPLITS)}}}.json and images/*")
        for uri in files:
            yield from _documents(uri)

    def read(self, reference: DocumentRef) -> Truth:
        image = json_object(sources.read_bytes(reference.annotation), reference.source)
        where = reference.source
        origin, words = member(image, ORIGIN, dict, where), [word for _, word in objects(image, "words", where)]
        texts = [member(word, "text", str, where) for word in words]
        boxes = [numbers(word.get("box"), where) for word in words]
        collected = PageWords(page_size(origin, where))
        tags = _tags(image["entities"], len(words), where) if origin.get("labelled") else [None] * len(words)
        add_words(collected, texts, boxes, tags, origin, where)
        return one_page(collected, origin, reference, where)


def _documents(uri: str) -> Iterator[DocumentRef]:
    content = json_object(sources.read_bytes(uri), uri)
    images = [image for _, image in objects(content, "images", uri)]
    if not all(ORIGIN in image for image in images):
        raise InputError(
            f"{uri} has images without `{ORIGIN}`, so without words; "
            "give a folder that `layoutray export dataset --format coco` has written"
        )
    kinds = {kind.get("id"): member(kind, "name", str, uri) for _, kind in objects(content, "categories", uri)}
    entities: dict[Any, list[tuple[str, list[int]]]] = defaultdict(list)
    for _, entry in objects(content, "annotations", uri):
        if (kind := kinds.get(entry.get("category_id"))) is None:
            raise malformed(uri, f"an annotation has category_id {entry.get('category_id')!r}, which is no category")
        entities[entry.get("image_id")].append((kind, member(entry, "words", list, uri)))
    for image in images:
        origin, name = member(image, ORIGIN, dict, uri), file_name(member(image, "file_name", str, uri)).name
        yield DocumentRef(
            key=member(origin, "doc_id", str, uri),
            source=member(origin, "source", str, uri),
            image=sources.join(folder_of(folder_of(uri)), "images", name) if name else "",
            annotation=json_uri(image | {"entities": entities[image.get("id")]}),
            split=file_name(uri).stem,
        )


def _tags(entities: list[tuple[str, list[int]]], count: int, where: str) -> list[str]:
    """IOB2 tags. Raises DocumentError (bad_annotation) if words of an entity do not follow each other."""
    found: list[Span] = []
    for kind, words in entities:
        if not words or words != list(range(words[0], words[0] + len(words))):
            raise malformed(where, f"an entity {kind!r} has the words {words}; they must follow each other")
        found.append((kind, words[0], words[-1] + 1))
    try:
        return to_iob2(found, count)
    except InputError as error:
        raise malformed(where, str(error)) from error


READER = _Coco()
