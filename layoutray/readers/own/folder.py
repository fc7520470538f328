"""A folder of files without annotation: every file below it is a document, whatever its name or type.

A file that cannot be read becomes a dead letter of ingest. Only files whose names start with a dot are ignored.
`layoutray.store.sources` describes how file names that are not valid text are written.
"""

from collections.abc import Iterator

from layoutray.document import Document
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import nothing_found
from layoutray.store import sources


class _Folder:
    name = "folder"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        found = False
        for uri in sources.list_files(root):
            found = True
            yield DocumentRef(key=uri, source=uri, image=uri, annotation="", split="")
        if not found:
            raise nothing_found(root, "any file whose name does not start with a dot")

    def read(self, item: DocumentRef) -> Truth:
        """The document with 0 pages: their number is known when the document is opened for OCR."""
        doc_id = sources.content_id(sources.read_bytes(item.source))
        return Truth(Document(doc_id, item.source, item.split, num_pages=0), pages=())


READER = _Folder()
