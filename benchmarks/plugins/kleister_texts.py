"""Kleister's agreements as texts, for training on documents whose PDFs are not at hand (format: `kleister`).

The words are those of the last column of `in.tsv.xz`, `text_best`. They have no positions and no pages; `texts` lays
them out. The columns escape line breaks, tabs, page breaks and backslashes. The source of a document is file and row,
`train/in.tsv.xz#17`; the bytes of its text identify it.
"""

import re
from collections.abc import Iterator

from benchmarks.plugins.kleister import fields_of, read_rows
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import file_name, json_object, json_uri, malformed, member
from layoutray.readers.texts import typeset_pages
from layoutray.store import sources

_ESCAPED = {"n": "\n", "f": "\n", "t": "\t", "\\": "\\"}


class _KleisterTexts:
    name = "kleister_texts"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        for row in read_rows(root):
            # The row itself, so that the file is not read again for each document.
            yield DocumentRef(
                key=file_name(row.pdf).stem,
                source=f"{row.table}#{row.number}",
                image="",
                annotation=json_uri({"text": row.text, "values": row.values or ""}, ascii_only=True),
                split=row.split,
            )

    def read(self, reference: DocumentRef) -> Truth:
        row = json_object(sources.read_bytes(reference.annotation), reference.source)
        text = member(row, "text", str, reference.source)
        doc_id = sources.content_id(text.encode())
        unescaped = re.sub(r"\\([nft\\])", lambda match: _ESCAPED[match[1]], text)
        pages = typeset_pages(unescaped, doc_id, reference.source, reference.split)
        if not pages:
            raise malformed(reference.source, "the text has no words")
        fields = fields_of(member(row, "values", str, reference.source), reference.source)
        return Truth(document=reference.document(doc_id, len(pages), fields), pages=pages)


READER = _KleisterTexts()
