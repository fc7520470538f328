"""Results of opening documents, stored with the data set, so that the next run opens only new and changed files.

Opening a document reads all its bytes, because its identity is their hash. A file counts as unchanged if its size and
its time of change are the same. Only documents without an annotation are stored: the truth of a document may also
depend on files that its reference does not name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Self

import pyarrow as pa

from layoutray.document import Document
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import OpenedDocument
from layoutray.prepare.plan import settings_hash
from layoutray.readers import DocumentRef
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store import shards, sources
from layoutray.store.schema import OPENED
from layoutray.store.spilled import JSON, TEXT, SpilledDict

_Row = tuple[str, str, str, int]
"""An OPENED row: source, stamp, doc_id and number of pages."""
_ROWS_PER_TABLE = 16384


@dataclass(frozen=True, slots=True)
class OpenedBefore:
    """Documents that earlier runs with the same settings have opened.

    Attributes:
        folder: folder of OPENED shards.
        name: name of the shard. It depends on the settings, because other settings may count pages differently.
        stamps: size and time of change of the files as they are now, by URI; see `sources.stamps`.
        rows: OPENED rows by source.
    """

    folder: str
    name: str
    stamps: SpilledDict[str]
    rows: SpilledDict[_Row]

    @classmethod
    def load(cls, output: Output, root: str, recipe: IngestRecipe) -> Self:
        """The rows in `output` and the files below `root`. Raises SchemaError if another version wrote the rows."""
        name = shards.part_name([settings_hash(recipe)])
        stamps, rows = SpilledDict(TEXT), SpilledDict[_Row](JSON)
        for uri, stamp in sources.stamps(root):
            stamps[uri] = stamp
        shard = sources.join(output.opened, name)
        for table in shards.scan(shard, OPENED, OPENED.names) if sources.exists(shard) else ():
            for row in zip(*(table[column].to_pylist() for column in OPENED.names), strict=True):
                rows[row[0]] = row
        return cls(output.opened, name, stamps, rows)

    def recall(self, reference: DocumentRef) -> OpenedDocument | None:
        """The stored result of opening a document; None if its files are new or have changed."""
        row = self.rows.get(reference.source)
        return _opened(reference, row) if row and row[1] == self._stamp(reference) else None

    def store(self, opened: Iterable[OpenedDocument]) -> None:
        """Add `opened` to the stored rows, as far as they can be recalled, and write all rows."""
        for result in opened:
            stamp = self._stamp(result.reference)
            if stamp and result.document:
                row = (result.reference.source, stamp, result.document.doc_id, result.document.num_pages)
                if result == _opened(result.reference, row):
                    self.rows[result.reference.source] = row
        rows = iter(self.rows.values())
        batches = iter(lambda: list(islice(rows, _ROWS_PER_TABLE)), [])
        tables = (pa.table([*map(list, zip(*batch, strict=True))], schema=OPENED) for batch in batches)
        shards.write_all(tables, OPENED, self.folder, self.name)

    def _stamp(self, reference: DocumentRef) -> str:
        """Stamp of all files of a document; empty if one file has none, or if the document has an annotation."""
        stamps = [self.stamps.get(uri) for uri in (reference.source, reference.image)]
        return " ".join(map(str, stamps)) if all(stamps) and not reference.annotation else ""


def _opened(reference: DocumentRef, row: _Row) -> OpenedDocument:
    _, _, doc_id, count = row
    document = Document(doc_id=doc_id, source=reference.source, split=reference.split, num_pages=count)
    return OpenedDocument(reference=reference, document=document, pages=tuple(range(1, count + 1)))
