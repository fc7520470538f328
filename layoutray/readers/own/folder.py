"""A folder of files without annotation: every file below it is a document, whatever its name or type.

A file that cannot be read becomes a dead letter of ingest. Only files whose names start with a dot are ignored.
`layoutray.store.sources` describes how file names that are not valid text are written.
"""

from collections.abc import Iterator

from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import require_any
from layoutray.store import sources


class _Folder:
    name = "folder"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        references = (
            DocumentRef(key=uri, source=uri, image=uri, annotation="", split="") for uri in sources.list_files(root)
        )
        return require_any(references, root, "any file whose name does not start with a dot")

    def read(self, reference: DocumentRef) -> Truth:
        doc_id = sources.content_id(sources.read_bytes(reference.source))
        return Truth(document=reference.document(doc_id, num_pages=0), pages=())


READER = _Folder()
