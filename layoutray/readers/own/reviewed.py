"""Documents that people have finished or answered in part on the review page, with their words as they were answered.

Files, anywhere below the root: `review.db`, the file of `layoutray review` and of the endpoint, or `reviewed*.jsonl`,
downloaded from the page. The words that a person has chosen for a value are tagged, and no others; in a document that
is not finished, the tags of the others are unknown. A value that a person has typed over is the document's value; its
words keep the text that OCR has read, because that is what a model sees.

`reviewed*.jsonl` may come from another machine: the pictures that it names are used only below the root, or below the
folders of the recipe key `pictures`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from layoutray.errors import InputError
from layoutray.readers import DocumentRef, Reader, Truth
from layoutray.readers.annotation import file_name, json_object, json_uri, malformed, nothing_found
from layoutray.readers.named_pictures import NamedPictures
from layoutray.review import truth
from layoutray.review.store import ReviewStore
from layoutray.store import sources

REVIEW_FILE = "review.db"
_OF_EARLIER_VERSIONS = {"partial": False, "ruled_out": []}
"""What their downloads lack: all documents are finished."""
_REVIEW = re.compile(r"review\.db|reviewed.*\.jsonl", re.S)


@dataclass(frozen=True, slots=True)
class _Reviewed:
    pictures: Sequence[str] = ()

    name = "reviewed"
    tags = "iob2"

    def with_pictures(self, folders: Sequence[str]) -> Reader:
        return _Reviewed(folders)

    def discover(self, root: str) -> Iterator[DocumentRef]:
        """The documents, each once: of several, the last. Raises InputError when there are none."""
        found: dict[str, DocumentRef] = {}
        files = sorted(uri for uri in sources.list_files(root) if _REVIEW.fullmatch(file_name(uri).name))
        named = NamedPictures((root, *self.pictures))
        for document in (document for uri in files for document in _documents(uri, named)):
            content = json_uri(document)
            page = json.loads(document["pages"][0]) if document["pages"] else {"image": "", "split": ""}
            reference = DocumentRef(
                key=document["doc_id"],
                source=document["source"],
                image=page["image"],
                annotation=content,
                split=page["split"],
            )
            found[document["doc_id"]] = reference
        named.warn()
        if not found:
            raise nothing_found(
                root, f"{REVIEW_FILE} or reviewed.jsonl with a document that a person has finished or answered in part"
            )
        yield from found.values()

    def read(self, reference: DocumentRef) -> Truth:
        document = json_object(sources.read_bytes(reference.annotation), reference.source)
        try:
            pages = truth.pages_of(document, reference.split)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise malformed(
                reference.source, f"has a page or value that is not valid, {place}: {first['msg']}"
            ) from error
        if others := {page.doc_id for page in pages} - {document["doc_id"]}:
            raise malformed(reference.source, f"has pages of another document, {min(others)}")
        return Truth(document=truth.document_of(document, reference.split), pages=pages)


def _documents(uri: str, named: NamedPictures) -> Iterator[dict[str, Any]]:
    if file_name(uri).name == REVIEW_FILE:
        local = sources.local_path(uri)
        if local is None:
            raise InputError(f"{uri} is not on a local disk; copy it to one, or download reviewed.jsonl from the page")
        store = ReviewStore.open(str(local), create=False)
        try:
            yield from truth.reviewed(store, None)
        finally:
            store.close()
        return
    for number, line in enumerate(sources.read_bytes(uri).splitlines(), 1):
        document = json_object(line, f"{uri}, line {number}")
        if not {"doc_id", "source", "model", "reviewers", "time", "pages", "values"} <= document.keys():
            raise malformed(f"{uri}, line {number}", "is not a reviewed document; download reviewed.jsonl again")
        yield (
            _OF_EARLIER_VERSIONS
            | document
            | {"pages": [_with_usable_picture(page, named) for page in document["pages"]]}
        )


def _with_usable_picture(text: str, named: NamedPictures) -> str:
    """A page as JSON, without its picture if that may not be used."""
    page: Mapping[str, Any] = json.loads(text)
    image = named.usable(page["image"])
    return text if image == page["image"] else json.dumps({**page, "image": image}, ensure_ascii=False)


READER = _Reviewed()
