"""The folder of EXAMPLES while `encode` fills it. A run that was killed is continued by the next one.

1. Workers write the examples of each batch of pages as a *piece*: Parquet shards and a receipt with its counts.
2. Groups of pieces are sorted by document.
3. Ranges of documents are merged from all sorted groups into few large files, which training reads by blocks. So the
   order of the examples follows from the pages, however these are sharded.

A repeated step replaces its own files.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.store import example_files, job, shards, sources
from layoutray.store.card import CARD
from layoutray.store.data_set import DEAD_LETTERS_FOLDER
from layoutray.store.id_ranges import id_ranges, in_range
from layoutray.store.schema import EXAMPLES

SPLITS = ("train", "dev", "test")

_PIECES = "pieces"
_PREPARED = "prepared.json"
_TOKENS_PER_FILE = 8 * 2**20
"""About 256 MiB in memory: few files, each of which a worker can sort."""
_ROWS_PER_ROW_GROUP = 64
"""A range reads only the row groups of a sorted group that have its documents."""
_ORDER = [(name, "ascending") for name in ("doc_id", "page", "window")]


class Merge(NamedTuple):
    """A file of a split, with the examples of a range of documents."""

    split: str
    name: str
    bounds: tuple[str, str]


@dataclass(frozen=True, slots=True)
class EncodeOutput:
    """The output folder of one `encode`.

    Attributes:
        folder: local path or address in an object store.
    """

    folder: str

    def prepared(self, identity: Mapping[str, Any]) -> dict[str, Any] | None:
        """What `begin` has stored for this job; None for a new folder.

        Raises:
            InputError: if another job owns the folder; see `store.job`.
        """
        if not job.owns(self.folder, identity, (*SPLITS, _PIECES)):
            return None
        return json.loads(sources.read_bytes(sources.join(self.folder, _PREPARED)))

    def begin(self, identity: Mapping[str, Any], prepared: Mapping[str, Any]) -> None:
        """Make the folder that of the job `identity`, and store results of its preparation, which is not repeated.

        Raises:
            InputError: as `prepared`.
        """
        shards.write_bytes(json.dumps(prepared).encode(), self.folder, _PREPARED)
        job.claim(self.folder, identity, (*SPLITS, _PIECES))

    def finished(self) -> bool:
        return sources.exists(sources.join(self.folder, CARD))

    def receipt(self, piece: str) -> dict[str, Any] | None:
        """The receipt of a complete piece; None if it is missing."""
        file = sources.join(self._pieces, f"{piece}.json")
        return json.loads(sources.read_bytes(file)) if sources.exists(file) else None

    def write_piece(self, piece: str, examples: pa.Table, counts: Mapping[str, Any]) -> dict[str, Any]:
        """Write the examples of a batch, and last its receipt, which is returned."""
        tokens: dict[str, int] = {}
        for split in SPLITS:
            part = examples.filter(pc.field("split") == split)
            if part.num_rows:
                shards.write(part, sources.join(self._pieces, split), f"{piece}.parquet")
                tokens[split] = sum(len(chunk.flatten()) for chunk in part["input_ids"].chunks)
        receipt = {**counts, "piece": piece, "tokens": tokens}
        shards.write_bytes(json.dumps(receipt).encode(), self._pieces, f"{piece}.json")
        return receipt

    def sorts(self, receipts: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
        """Split and pieces of each call of `sort`."""
        for split in SPLITS:
            group: list[str] = []
            tokens = 0
            for receipt in sorted(receipts, key=lambda receipt: receipt["piece"]):
                if more := receipt["tokens"].get(split, 0):
                    if group and tokens + more > _TOKENS_PER_FILE:
                        yield split, group
                        group, tokens = [], 0
                    group.append(receipt["piece"])
                    tokens += more
            if group:
                yield split, group

    def sort(self, split: str, pieces: Sequence[str]) -> None:
        """Join pieces to one table, sorted by document, page and window."""
        folder = sources.join(self._pieces, split)
        tables = [shards.read_shard(sources.join(folder, f"{piece}.parquet")) for piece in pieces]
        ordered = pa.concat_tables(tables).cast(EXAMPLES).sort_by(_ORDER)
        parts = (ordered.slice(at, _ROWS_PER_ROW_GROUP) for at in range(0, ordered.num_rows, _ROWS_PER_ROW_GROUP))
        shards.write_all(parts, EXAMPLES, self._sorted(split), shards.part_name(pieces))

    def merges(self, receipts: Sequence[Mapping[str, Any]]) -> Iterator[Merge]:
        """The files of all splits, in order. They follow from the examples alone."""
        for split in SPLITS:
            tokens = sum(receipt["tokens"].get(split, 0) for receipt in receipts)
            ranges = id_ranges(ceil(tokens / _TOKENS_PER_FILE)) if tokens else []
            for number, bounds in enumerate(ranges, start=1):
                yield Merge(split, f"part-{number:05}-of-{len(ranges):05}.arrow", bounds)

    def merge(self, merge: Merge) -> pa.Table:
        """Write a file from the tables of `sort`. Returns its EXAMPLE_BLOCKS rows; none if the range is empty."""
        rows = shards.read(self._sorted(merge.split), EXAMPLES, filter=in_range(*merge.bounds)).sort_by(_ORDER)
        return example_files.write_shard(rows, sources.join(self.folder, merge.split), merge.name)

    def finish_split(self, split: str, blocks: Sequence[pa.Table]) -> None:
        """Write the index of a split; `blocks` are those of `merge`, in the order of `merges`."""
        if blocks:
            example_files.write_index(pa.concat_tables(blocks), sources.join(self.folder, split))

    def remove_pieces(self) -> None:
        """Delete the pieces, and what killed processes have half written; the examples are complete without them."""
        sources.remove_folder(self._pieces)
        for part in (*SPLITS, DEAD_LETTERS_FOLDER):
            shards.remove_half_written(sources.join(self.folder, part))

    def _sorted(self, split: str) -> str:
        return sources.join(self._pieces, "sorted", split)

    @property
    def _pieces(self) -> str:
        return sources.join(self.folder, _PIECES)
