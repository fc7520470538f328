"""What opening told of documents, kept beside their pages, so that the next run opens only those whose files have changed since.

To open a document is to read all its bytes, for its identity is their hash. A file passes for the same while its size and the time of its
last change are. Kept are documents that ship no truth: of others, more files than those that an item names may have a say.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Self

import pyarrow as pa

from layoutray.document import Document
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import OpenedDocument
from layoutray.prepare.plan import settings_hash
from layoutray.readers import DocumentRef
from layoutray.recipe import IngestRecipe
from layoutray.store import shards, sources
from layoutray.store.schema import OPENED
from layoutray.store.spilled import SpilledDict, texts

_Row = tuple[str, str, int]
"""Stamp, doc_id and number of pages."""
_WRITTEN_TOGETHER = 16384


@dataclass(frozen=True, slots=True)
class OpenedBefore:
    """What runs with one recipe's settings have kept in one folder.

    Attributes:
        folder: where it lies.
        name: of its shard: other settings may count a file's pages differently.
        stamps: of the files as they are now, see `sources.stamps`.
        known: what was told, by source.
    """

    folder: str
    name: str
    stamps: SpilledDict[str]
    known: SpilledDict[_Row]

    @classmethod
    def of(cls, output: Output, root: str, recipe: IngestRecipe) -> Self:
        """What `output` has of the files below `root`. Raises SchemaError when another version made it."""
        name = shards.part_name([settings_hash(recipe)])
        stamps, known = texts(), SpilledDict[_Row](json.dumps, lambda text: tuple(json.loads(text)))
        for uri, stamp in sources.stamps(root):
            stamps[uri] = stamp
        for source, stamp, doc_id, count in _rows(sources.join(output.opened, name)):
            known[source] = stamp, doc_id, count
        return cls(output.opened, name, stamps, known)

    def recall(self, item: DocumentRef) -> OpenedDocument | None:
        """What opening `item` told, where its files are what they were."""
        row = self.known.get(item.source)
        return _opened(item, row) if row and row[0] == self._stamp(item) else None

    def keep(self, opened: Iterable[OpenedDocument]) -> None:
        """Write what can be recalled of `opened`, and what is known of other files."""
        for one in opened:
            stamp = self._stamp(one.item)
            if stamp and one.document:
                row = (stamp, one.document.doc_id, one.document.num_pages)
                if one == _opened(one.item, row):
                    self.known[one.item.source] = row
        rows = ((source, *row) for source, row in self.known.items())
        together = iter(lambda: list(islice(rows, _WRITTEN_TOGETHER)), [])
        tables = (pa.table([*map(list, zip(*some, strict=True))], schema=OPENED) for some in together)
        shards.write_all(tables, OPENED, self.folder, self.name)

    def _stamp(self, item: DocumentRef) -> str:
        """Of all files of an item; empty where that of one is not known, or where it has truth."""
        stamps = [self.stamps.get(uri) for uri in (item.source, item.image)]
        return " ".join(map(str, stamps)) if all(stamps) and not item.annotation else ""


def _rows(shard: str) -> Iterator[tuple[str, str, str, int]]:
    for table in shards.scan(shard, OPENED, OPENED.names) if sources.exists(shard) else ():
        yield from zip(*(table[name].to_pylist() for name in OPENED.names), strict=True)


def _opened(item: DocumentRef, row: _Row) -> OpenedDocument:
    _, doc_id, count = row
    return OpenedDocument(item, Document(doc_id, item.source, item.split, count), pages=tuple(range(1, count + 1)))
