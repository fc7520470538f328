"""Kleister-NDA and Kleister-Charity: long PDFs with field values (Stanislawek et al., ICDAR 2021, arXiv:2105.05796).

Files: `documents/*.pdf`, and for each of `train`, `dev-0` and `test-A` an `in.tsv.xz`, whose rows begin with the name
of a PDF and end with its text, and an `expected.tsv` with the values of the same rows; `test-A` has no `expected.tsv`.
A key may have no value or several. Values have no positions. The files write spaces and colons as underscores; here
both become spaces.

This reader takes words from the PDFs and ignores the texts in the rows, which `kleister_texts` reads. A PDF that is
missing is listed too, so that it becomes a dead letter.
"""

import lzma
from collections.abc import Iterator
from dataclasses import dataclass

from layoutray.document import Field
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import file_name, folder_of, json_uri, json_value, malformed, nothing_found, text_of
from layoutray.store import sources

_SPLITS = {"train": "train", "dev-0": "dev", "test-A": "test"}
_ROWS, _VALUES = "in.tsv.xz", "expected.tsv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of `in.tsv.xz`, and the line of `expected.tsv` that belongs to it.

    Attributes:
        table: URI of `in.tsv.xz`.
        number: of the row, from 1.
        pdf: name of the PDF.
        text: the last column, escaped as in the file; empty if the row has no text.
        values: pairs `key=value` separated by blanks; None in a split without values.
        split: train, dev or test.
    """

    table: str
    number: int
    pdf: str
    text: str
    values: str | None
    split: str


def read_rows(root: str) -> Iterator[Row]:
    """The rows of all tables below `root`. Raises InputError if there is none, or one is malformed."""
    files = set(sources.list_files(root))
    tables = sorted(uri for uri in files if file_name(uri).name == _ROWS and file_name(folder_of(uri)).name in _SPLITS)
    if not tables:
        raise nothing_found(root, f"{{{','.join(_SPLITS)}}}/{_ROWS}, and documents/*.pdf")
    for uri in tables:
        part = folder_of(uri)
        truth = sources.join(part, _VALUES)
        rows = _rows(uri)
        values = _lines(text_of(sources.read_bytes(truth), truth)) if truth in files else [None] * len(rows)
        if len(values) != len(rows):
            raise malformed(
                truth,
                f"{len(values)} lines, but {_ROWS} has {len(rows)} rows; the numbers must be equal",
            )
        split = _SPLITS[file_name(part).name]
        for number, ((name, text), line) in enumerate(zip(rows, values, strict=True), start=1):
            yield Row(table=uri, number=number, pdf=name, text=text, values=line, split=split)


def fields_of(values: str, where: str) -> tuple[Field, ...]:
    """The fields of a line of `expected.tsv`. Raises DocumentError (bad_annotation) naming `where`."""
    fields: list[Field] = []
    for pair in values.split():
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise malformed(where, f"{pair!r:.80} is not `key=value`")
        fields.append(Field(name, value.replace("_", " ")))
    return tuple(fields)


class _Kleister:
    name = "kleister"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        for row in read_rows(root):
            pdf = sources.join(folder_of(folder_of(row.table)), "documents", row.pdf)
            # As JSON in a data: URI, so that the file is not read again for each document.
            annotation = "" if row.values is None else json_uri(row.values, ascii_only=True)
            yield DocumentRef(
                key=file_name(row.pdf).stem, source=pdf, image=pdf, annotation=annotation, split=row.split
            )

    def read(self, reference: DocumentRef) -> Truth:
        doc_id = sources.content_id(sources.read_bytes(reference.source))
        line = json_value(sources.read_bytes(reference.annotation), reference.source) if reference.annotation else ""
        return Truth(document=reference.document(doc_id, 0, fields_of(line, reference.source)), pages=())


def _rows(uri: str) -> list[tuple[str, str]]:
    """Name of the PDF and last text of each row."""
    try:
        text = text_of(lzma.decompress(sources.read_bytes(uri)), uri)
    except lzma.LZMAError as error:
        raise malformed(uri, f"is not an xz file: {error}") from error
    rows: list[tuple[str, str]] = []
    for number, line in enumerate(_lines(text), start=1):
        # A name, keys and texts. No quoting: a double quote is an ordinary character.
        name, *others = line.split("\t")
        if not name.strip() or "/" in name:
            raise malformed(
                f"{uri}, line {number}", f"begins with {name!r:.80}, expected the name of a file in `documents`"
            )
        rows.append((name, others[-1] if len(others) > 1 else ""))
    return rows


def _lines(text: str) -> list[str]:
    """Lines of a file. Not splitlines(), which also splits at separators that texts contain."""
    return text.removesuffix("\n").split("\n") if text else []


READER = _Kleister()
