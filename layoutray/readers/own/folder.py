"""A folder of files without annotation: every file below it is a document, whatever its name or type.

A file that cannot be read becomes a dead letter of ingest. Files whose names start with a dot are ignored, and so are
`values.csv` and `values.jsonl`, which have the values of the files beside them for reader `values`.
`layoutray.store.sources` describes how file names that are not valid text are written.
"""

from collections.abc import Iterator

from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import require_any
from layoutray.readers.own.values import TABLES
from layoutray.store import sources


class _Folder:
    name = "folder"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        references = (
            DocumentRef(key=uri, source=uri, image=uri, annotation="", split="")
            for uri in sources.list_files(root)
            if sources.name(uri) not in TABLES
        )
        return require_any(references, root, "any file whose name does not start with a dot")

    def read(self, reference: DocumentRef) -> Truth:
        doc_id = sources.content_id(sources.read_bytes(reference.source))
        return Truth(document=reference.document(doc_id, num_pages=0), pages=())


READER = _Folder()
