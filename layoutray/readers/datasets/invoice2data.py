"""invoice2data: documents with their expected values in a JSON file of the same name.

Files: `NAME.pdf` (or a picture) and `NAME.json`, a list of one object. Its texts and numbers are field values; a list
of texts is a field with several values. Tables, e.g. the lines of an invoice, are ignored. Values have no positions.
A JSON file without a PDF or picture is listed too, so that it becomes a dead letter.
"""

from collections.abc import Iterator

from layoutray.document import Field
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    file_name,
    json_value,
    malformed,
    named,
    nothing_found,
    scans_by_stem,
    without_suffix,
)
from layoutray.store import sources


class _Invoice2Data:
    name = "invoice2data"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = sorted(sources.list_files(root))
        scans = scans_by_stem(files)
        json_files = [uri for uri in files if file_name(uri).suffix.lower() == ".json"]
        if not json_files:
            raise nothing_found(root, "NAME.json, and NAME.pdf or a picture with that name beside it")
        for uri in json_files:
            image = named(without_suffix(uri), scans)
            yield DocumentRef(key=file_name(uri).stem, source=image or uri, image=image, annotation=uri, split="")

    def read(self, reference: DocumentRef) -> Truth:
        doc_id = sources.content_id(sources.read_bytes(reference.source))
        fields = _fields(sources.read_bytes(reference.annotation), reference.annotation)
        return Truth(document=reference.document(doc_id, 0, fields), pages=())


def _fields(data: bytes, where: str) -> Iterator[Field]:
    """The texts and numbers of the object, without empty ones."""
    value = json_value(data, where)
    if not (isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)):
        raise malformed(where, f"the JSON value is {value!r:.80}, expected a list of one object")
    for name, content in value[0].items():
        for one in content if isinstance(content, list) else [content]:
            if isinstance(one, str | int | float) and not isinstance(one, bool) and str(one).strip():
                yield Field(name, str(one).strip())


READER = _Invoice2Data()
