"""Kleister's agreements as texts, for training on documents whose PDFs are not at hand (format: `kleister`).

The words are those of the last column of `in.tsv.xz`, `text_best`. They have no positions and no pages; `texts` lays
them out. The columns escape line breaks, tabs, page breaks and backslashes. The source of a document is file and row,
`train/in.tsv.xz#17`; the bytes of its text identify it.
"""

import json
import re
from collections.abc import Iterator

from layoutray.document import Document
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import file_name, json_object, malformed, member
from layoutray.readers.datasets.kleister import fields_of, read_rows
from layoutray.readers.texts import typeset_pages
from layoutray.store import sources

_ESCAPED = {"n": "\n", "f": "\n", "t": "\t", "\\": "\\"}


class _KleisterTexts:
    name = "kleister_texts"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        for row in read_rows(root):
            # The row itself, so that the file is not read again for each document.
            content = json.dumps({"text": row.text, "values": row.values or ""}).encode()
            yield DocumentRef(
                file_name(row.pdf).stem,
                source=f"{row.table}#{row.number}",
                image="",
                annotation=sources.data_uri("application/json", content),
                split=row.split,
            )

    def read(self, item: DocumentRef) -> Truth:
        row = json_object(sources.read_bytes(item.annotation), item.source)
        text = member(row, "text", str, item.source)
        doc_id = sources.content_id(text.encode())
        pages = typeset_pages(_unescaped(text), doc_id, item.source, item.split)
        if not pages:
            raise malformed(item.source, "the text has no words")
        fields = fields_of(member(row, "values", str, item.source), item.source)
        return Truth(Document(doc_id, item.source, item.split, len(pages), fields), pages)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([nft\\])", lambda match: _ESCAPED[match[1]], text)


READER = _KleisterTexts()
