"""Kleister-NDA and Kleister-Charity: long PDFs with field values (Stanislawek et al., ICDAR 2021, arXiv:2105.05796).

Files: `documents/*.pdf`, and for each of `train`, `dev-0` and `test-A` an `in.tsv.xz`, whose rows begin with the name
of a PDF, and an `expected.tsv` with the values of the same rows; `test-A` has no `expected.tsv`. Texts in the rows
are ignored: words come from the PDFs. A key may have no value or several. Values have no positions. The files write
spaces and colons as underscores; here both become spaces. A PDF that is missing is listed too, so that it becomes a
dead letter.
"""

import json
import lzma
from collections.abc import Iterator

from layoutray.document import Document, Field
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import file_name, folder_of, json_value, malformed, nothing_found, text_of
from layoutray.store import sources

_SPLITS = {"train": "train", "dev-0": "dev", "test-A": "test"}
_ROWS, _VALUES = "in.tsv.xz", "expected.tsv"


class _Kleister:
    name = "kleister"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = set(sources.list_files(root))
        tables = sorted(
            uri for uri in files if file_name(uri).name == _ROWS and file_name(folder_of(uri)).name in _SPLITS
        )
        if not tables:
            raise nothing_found(root, f"{{{','.join(_SPLITS)}}}/{_ROWS}, and documents/*.pdf")
        for uri in tables:
            part = folder_of(uri)
            truth = sources.join(part, _VALUES)
            names = _names(uri)
            values = _lines(text_of(sources.read_bytes(truth), truth)) if truth in files else [""] * len(names)
            if len(values) != len(names):
                raise malformed(
                    truth,
                    f"{len(values)} lines, but {_ROWS} has {len(names)} rows; the numbers must be equal",
                )
            for name, line in zip(names, values, strict=True):
                pdf = sources.join(folder_of(part), "documents", name)
                # As JSON in a data: URI, so that the file is not read again for each document.
                annotation = sources.data_uri("application/json", json.dumps(line).encode()) if truth in files else ""
                yield DocumentRef(
                    file_name(name).stem,
                    source=pdf,
                    image=pdf,
                    annotation=annotation,
                    split=_SPLITS[file_name(part).name],
                )

    def read(self, item: DocumentRef) -> Truth:
        """The document with 0 pages: their number is known when the document is opened."""
        doc_id = sources.content_id(sources.read_bytes(item.source))
        line = json_value(sources.read_bytes(item.annotation), item.source) if item.annotation else ""
        fields = tuple(_field(pair, item.source) for pair in line.split())
        return Truth(Document(doc_id, item.source, item.split, num_pages=0, fields=fields), pages=())


def _names(uri: str) -> list[str]:
    try:
        text = text_of(lzma.decompress(sources.read_bytes(uri)), uri)
    except lzma.LZMAError as error:
        raise malformed(uri, f"is not an xz file: {error}") from error
    # No quoting: a double quote is an ordinary character.
    names = [line.partition("\t")[0] for line in _lines(text)]
    for number, name in enumerate(names, start=1):
        if not name.strip() or "/" in name:
            raise malformed(
                f"{uri}, line {number}", f"begins with {name!r:.80}, expected the name of a file in `documents`"
            )
    return names


def _lines(text: str) -> list[str]:
    """Lines of a file. Not splitlines(), which also splits at separators that texts contain."""
    return text.removesuffix("\n").split("\n") if text else []


def _field(pair: str, where: str) -> Field:
    name, equals, value = pair.partition("=")
    if not (name and equals and value):
        raise malformed(where, f"{pair!r:.80} is not `key=value`")
    return Field(name, value.replace("_", " "))


READER = _Kleister()
