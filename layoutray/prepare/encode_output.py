"""The folder of EXAMPLES while `encode` fills it. A run that was killed is continued by the next one.

1. Workers write the examples of each piece as Parquet shards.
2. The pieces are sorted by document, as many at a time as fit into memory.
3. Each file of a split is written with the examples of a range of documents, read from all sorted pieces. Files are few
   and large, and training reads them by blocks. Their order follows from the pages, however these are sharded.

A repeated step replaces its own files.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, NamedTuple

import pyarrow as pa

from layoutray.prepare.pieces import PieceCounts, by_split
from layoutray.store import codec, example_files, job, shards, sources
from layoutray.store.card import CARD
from layoutray.store.data_set import DEAD_LETTERS_FOLDER
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.id_ranges import id_ranges, in_range
from layoutray.store.schema import EXAMPLES, SPLITS

_PIECES = "pieces"
_PREPARED = "prepared.json"
_TOKENS_PER_FILE = 8 * 2**20
"""About 256 MiB in memory: few files, each of which a worker can sort."""
_ROWS_PER_ROW_GROUP = 64
"""A range reads only the row groups of sorted pieces that have its documents."""
_ORDER = [(name, "ascending") for name in ("doc_id", "page", "window")]


class SplitFile(NamedTuple):
    """A file of a split, with the examples of a range of documents."""

    split: str
    name: str
    documents: tuple[str, str]


@dataclass(frozen=True, slots=True)
class EncodeOutput:
    """The output folder of one `encode`: a local path or an address in an object store."""

    folder: str

    def prepared(self, identity: Mapping[str, Any]) -> dict[str, Any] | None:
        """What `begin` has stored for this job; None for a new folder. Raises InputError as `store.job.owns`."""
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

    def counts(self, piece: str) -> PieceCounts | None:
        """The counts of a complete piece; None if it is missing."""
        file = sources.join(self._pieces, f"{piece}.json")
        return PieceCounts(**json.loads(sources.read_bytes(file))) if sources.exists(file) else None

    def write_piece(self, examples: pa.Table, letters: Sequence[DeadLetter], counts: PieceCounts) -> None:
        """Write what a piece has become. Its counts are written last: they complete it."""
        shard = f"{counts.piece}.parquet"
        if letters:
            folder = sources.join(self.folder, DEAD_LETTERS_FOLDER)
            shards.write(codec.dead_letters_table(letters), folder, shard)
        for split, part in by_split(examples):
            shards.write(part, sources.join(self._pieces, split), shard)
        shards.write_bytes(json.dumps(asdict(counts)).encode(), self._pieces, f"{counts.piece}.json")

    def sorts(self, pieces: Iterable[PieceCounts]) -> Iterator[tuple[str, list[str]]]:
        """Split and pieces of each call of `sort`."""
        for split in SPLITS:
            together: list[str] = []
            tokens = 0
            for piece in sorted(pieces, key=lambda piece: piece.piece):
                if more := piece.tokens.get(split, 0):
                    if together and tokens + more > _TOKENS_PER_FILE:
                        yield split, together
                        together, tokens = [], 0
                    together.append(piece.piece)
                    tokens += more
            if together:
                yield split, together

    def sort(self, split: str, pieces: Sequence[str]) -> None:
        """Join pieces to one table, sorted by document, page and window."""
        folder = sources.join(self._pieces, split)
        tables = [shards.read_shard(sources.join(folder, f"{piece}.parquet")) for piece in pieces]
        ordered = pa.concat_tables(tables).cast(EXAMPLES).sort_by(_ORDER)
        parts = (ordered.slice(at, _ROWS_PER_ROW_GROUP) for at in range(0, ordered.num_rows, _ROWS_PER_ROW_GROUP))
        shards.write_all(parts, EXAMPLES, self._sorted(split), shards.part_name(pieces))

    def files(self, pieces: Sequence[PieceCounts]) -> Iterator[SplitFile]:
        """The files of all splits, in order. They follow from the examples alone."""
        for split in SPLITS:
            tokens = sum(piece.tokens.get(split, 0) for piece in pieces)
            ranges = id_ranges(ceil(tokens / _TOKENS_PER_FILE)) if tokens else []
            for number, documents in enumerate(ranges, start=1):
                yield SplitFile(split, f"part-{number:05}-of-{len(ranges):05}.arrow", documents)

    def write_file(self, file: SplitFile) -> pa.Table:
        """Write a file from the sorted pieces. Returns its EXAMPLE_BLOCKS rows; none if the range is empty."""
        rows = shards.read(self._sorted(file.split), EXAMPLES, filter=in_range(*file.documents)).sort_by(_ORDER)
        return example_files.write_shard(rows, sources.join(self.folder, file.split), file.name)

    def finish_split(self, split: str, blocks: Sequence[pa.Table]) -> None:
        """Write the index of a split; `blocks` are those of `write_file`, in the order of `files`."""
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
