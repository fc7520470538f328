"""What opening told of documents, kept beside their pages, so that the next run opens only those whose files have changed since.

To open a document is to read all its bytes, for its identity is their hash. A file passes for the same while its size and the time of its
last change are. Kept are documents that ship no truth: of others, more files than those that an item names may have a say.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from layoutray.document import Document
from layoutray.prepare.output import Output, rows
from layoutray.prepare.plan import settings_hash
from layoutray.prepare.units import Opened
from layoutray.readers import Item
from layoutray.recipe import IngestRecipe
from layoutray.store import shards, sources
from layoutray.store.schema import OPENED


@dataclass(frozen=True, slots=True)
class OpenedBefore:
    """What runs with one recipe's settings have kept in one folder.

    Attributes:
        stamps: of the files as they are now, see `sources.stamps`.
        table: rows of OPENED.
        name: of their shard: other settings may count a file's pages differently.
    """

    folder: str
    name: str
    stamps: Mapping[str, str]
    table: pa.Table

    @classmethod
    def of(cls, output: Output, root: str, recipe: IngestRecipe) -> Self:
        """What `output` has of the files below `root`. Raises SchemaError when another version made it."""
        name = shards.part_name([settings_hash(recipe)])
        return cls(output.opened, name, sources.stamps(root), rows(sources.join(output.opened, name), OPENED, OPENED.names))

    def recall(self, items: Sequence[Item]) -> dict[Item, Opened]:
        """Those of `items` whose files are what they were."""
        known = {row["source"]: row for row in self.table.to_pylist()}
        found = {item: known[item.source] for item in items if item.source in known}
        return {item: _opened(item, row) for item, row in found.items() if row["stamp"] == self._stamp(item)}

    def keep(self, opened: Iterable[Opened]) -> None:
        """Write what can be recalled of `opened`, and what is known of other files."""
        kept = [
            (one, stamp)
            for one in opened
            if (stamp := self._stamp(one.item)) and one.document and one == _opened(one.item, _row(one, stamp))
        ]
        fresh = pa.Table.from_pylist([_row(one, stamp) for one, stamp in kept], schema=OPENED)
        names = {one.item.source for one, _ in kept}
        others = self.table.filter(pa.array([source not in names for source in self.table["source"].to_pylist()], pa.bool_()))
        shards.write(pa.concat_tables([others, fresh]), self.folder, self.name)

    def _stamp(self, item: Item) -> str:
        """Of all files of an item; empty where that of one is not known, or where it has truth."""
        stamps = [self.stamps.get(uri, "") for uri in (item.source, item.image)]
        return " ".join(stamps) if all(stamps) and not item.annotation else ""


def _row(one: Opened, stamp: str) -> dict[str, object]:
    assert one.document is not None
    return {"source": one.item.source, "stamp": stamp, "doc_id": one.document.doc_id, "num_pages": one.document.num_pages}


def _opened(item: Item, row: Mapping[str, object]) -> Opened:
    count = int(str(row["num_pages"]))
    return Opened(item, Document(str(row["doc_id"]), item.source, item.split, count), pages=tuple(range(1, count + 1)))
