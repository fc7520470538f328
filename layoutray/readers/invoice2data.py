"""Documents with the values that should come out of them in a JSON file of the same name beside each, as invoice2data compares its own.

Files: `NAME.pdf` (or else a picture) and `NAME.json`, a list of one object. Its texts and numbers are fields, and so is each text of a
list, as one of several values; tables, such as the lines of an invoice, are no fields and are left out. The values have no places.
A JSON without a PDF or picture is an item all the same, so that it is not lost without a word.
"""

from collections.abc import Iterator
from typing import Any

from layoutray.document import Document, Field
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import IMAGE_SUFFIXES, file_name, folder_of, json_value, malformed, nothing_found
from layoutray.store import sources

_SUFFIXES = (".pdf", *sorted(IMAGE_SUFFIXES))


class _Invoice2Data:
    name = "invoice2data"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = sorted(sources.list_files(root))
        shown = {
            _stem(uri): uri
            for suffix in reversed(_SUFFIXES)
            for uri in files
            if file_name(uri).suffix.lower() == suffix
        }
        found = [uri for uri in files if file_name(uri).suffix.lower() == ".json"]
        if not found:
            raise nothing_found(root, "NAME.json, with NAME.pdf or a picture of that name beside it")
        for uri in found:
            image = shown.get(_stem(uri), "")
            yield DocumentRef(file_name(uri).stem, source=image or uri, image=image, annotation=uri, split="")

    def read(self, item: DocumentRef) -> Truth:
        """The document with 0 pages, as of `folder`: how many there are is known once it is opened."""
        doc_id = sources.content_id(sources.read_bytes(item.source))
        fields = tuple(_fields(sources.read_bytes(item.annotation), item.annotation))
        return Truth(Document(doc_id, item.source, item.split, num_pages=0, fields=fields), pages=())


def _stem(uri: str) -> tuple[str, str]:
    return folder_of(uri), file_name(uri).stem


def _fields(data: bytes, where: str) -> Iterator[Field]:
    value = json_value(data, where)
    if not (isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)):
        raise malformed(where, f"the JSON holds {value!r:.80}, expected a list of one object")
    for name, given in value[0].items():
        yield from (Field(name, text) for text in _texts(given))


def _texts(given: Any) -> Iterator[str]:
    """What a value says as text; empty texts say nothing."""
    for one in given if isinstance(given, list) else [given]:
        if isinstance(one, str | int | float) and not isinstance(one, bool) and str(one).strip():
            yield str(one).strip()


READER = _Invoice2Data()
