"""A folder of files without truth: every file below it is a document, whatever its name or type.

Nothing is sorted out here: what cannot be read becomes a dead letter of ingest, never a silent loss. Only names that
start with a dot are left out. How names that are not text are written is said in `layoutray.store.sources`.
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
        """The document alone, with 0 pages: how many there are is known once it is opened for OCR."""
        doc_id = sources.content_id(sources.read_bytes(item.source))
        return Truth(Document(doc_id, item.source, item.split, num_pages=0), pages=())


READER = _Folder()
