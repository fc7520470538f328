"""The folder of EXAMPLES while `encode` fills it. A run that was killed is continued by the next one.

Workers write the examples of each batch of pages as a *piece*: Parquet shards and a receipt with its counts. When all
pieces are there, the pieces of each split are merged into few large files, which training reads by blocks. A repeated
batch or merge replaces its own files.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.errors import InputError
from layoutray.store import example_files, shards, sources
from layoutray.store.card import CARD
from layoutray.store.data_set import DEAD_LETTERS_FOLDER
from layoutray.store.schema import EXAMPLES

SPLITS = ("train", "dev", "test")

_PIECES = "pieces"
_START = "encode.json"
_MERGED_BYTES = 256 * 2**20
"""Size of a merged file in memory: few files, each of which a worker can sort."""
_ORDER = [(name, "ascending") for name in ("doc_id", "page", "window")]


@dataclass(frozen=True, slots=True)
class EncodeOutput:
    """The output folder of one `encode`.

    Attributes:
        folder: local path or address in an object store.
    """

    folder: str

    def begin(self, identity: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
        """Reserve the folder for the run with this `identity`.

        Args:
            stated: results of the preparation that a continued run must not repeat.

        Returns:
            The `stated` of the run that began here first.
        """
        content = {"identity": dict(identity), "stated": dict(stated)}
        shards.write_bytes(json.dumps(content).encode(), self.folder, _START)
        return content["stated"]

    def begun(self, identity: Mapping[str, Any]) -> dict[str, Any] | None:
        """What `begin` has stored; None for a new folder.

        Raises:
            InputError: if the folder belongs to another run.
        """
        file = sources.join(self.folder, _START)
        if not sources.exists(file):
            if sources.exists(sources.join(self.folder, CARD)):
                raise self._taken("examples of an earlier version")
            return None
        content = json.loads(sources.read_bytes(file))
        other = [key for key, value in identity.items() if content["identity"].get(key) != value]
        if other:
            raise self._taken(f"examples that differ in {', '.join(other)}")
        return content["stated"]

    def _taken(self, what: str) -> InputError:
        return InputError(f"{self.folder} contains {what}; give another --out")

    def finished(self) -> bool:
        return sources.exists(sources.join(self.folder, CARD))

    def receipt(self, piece: str) -> dict[str, Any] | None:
        """The receipt of a complete piece; None if it is missing."""
        file = sources.join(self._pieces, f"{piece}.json")
        return json.loads(sources.read_bytes(file)) if sources.exists(file) else None

    def write_piece(self, piece: str, examples: pa.Table, counts: Mapping[str, Any]) -> dict[str, Any]:
        """Write the examples of a batch, and last its receipt, which is returned."""
        sizes: dict[str, int] = {}
        for split in SPLITS:
            part = examples.filter(pc.field("split") == split)
            if part.num_rows:
                shards.write(part, sources.join(self._pieces, split), f"{piece}.parquet")
                sizes[split] = part.nbytes
        receipt = {**counts, "piece": piece, "sizes": sizes}
        shards.write_bytes(json.dumps(receipt).encode(), self._pieces, f"{piece}.json")
        return receipt

    def merges(self, receipts: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
        """Split and pieces of each merged file. Their order is that of the pieces' names."""
        for split in SPLITS:
            group: list[str] = []
            room = _MERGED_BYTES
            for receipt in sorted(receipts, key=lambda receipt: receipt["piece"]):
                size = receipt["sizes"].get(split, 0)
                if group and size > room:
                    yield split, group
                    group, room = [], _MERGED_BYTES
                if size:
                    group.append(receipt["piece"])
                    room -= size
            if group:
                yield split, group

    def merge(self, split: str, pieces: Sequence[str]) -> pa.Table:
        """Merge pieces into one file, sorted by document, page and window. Returns its EXAMPLE_BLOCKS rows."""
        folder = sources.join(self._pieces, split)
        tables = [shards.read_shard(sources.join(folder, f"{piece}.parquet")) for piece in pieces]
        merged = pa.concat_tables(tables).cast(EXAMPLES).sort_by(_ORDER)
        name = shards.part_name(pieces).replace(".parquet", ".arrow")
        return example_files.write_shard(merged, sources.join(self.folder, split), name)

    def finish_split(self, split: str, blocks: Sequence[pa.Table]) -> None:
        """Write the index of a split; `blocks` are those of `merge`, in the order of `merges`."""
        if blocks:
            example_files.write_index(pa.concat_tables(blocks), sources.join(self.folder, split))

    def remove_pieces(self) -> None:
        """Delete the pieces, and what killed processes have half written; the examples are complete without them."""
        sources.remove_folder(self._pieces)
        for part in (*SPLITS, DEAD_LETTERS_FOLDER):
            shards.remove_half_written(sources.join(self.folder, part))

    @property
    def _pieces(self) -> str:
        return sources.join(self.folder, _PIECES)
