"""The pieces of an `encode`: each is some pages, which one worker reads and encodes at a time.

A piece has a name that follows from its pages. Its examples are written under this name, and last its counts, so that a
run that was killed is continued, and a piece that is made again replaces itself. The card of the examples is made from
the counts of all pieces.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document.filters import Filters
from layoutray.errors import InputError, Reason
from layoutray.prepare import origin
from layoutray.prepare.encode import Encoder, digest_of, filtered_pages, pages_digest
from layoutray.store import shards
from layoutray.store.card import Card
from layoutray.store.data_set import DEAD_LETTERS_FOLDER
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import SPLITS

Run = tuple[int, int]
"""First row of a run of rows of a shard, and the row after its last."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Pages to encode together: runs of rows of PAGES shards.

    Attributes:
        rows: shard, first row (`start`) and number of rows (`rows`) of each run; plain values.
    """

    rows: Sequence[Mapping[str, Any]]

    @property
    def name(self) -> str:
        return f"part-{hashlib.sha256(json.dumps(self.rows).encode()).hexdigest()[:20]}"

    def read(self) -> pa.Table:
        runs = (shards.read_shard(run["shard"]).slice(run["start"], run["rows"]) for run in self.rows)
        return pa.concat_tables(runs)


def pieces_of(runs: Mapping[str, Sequence[Run]], size: int) -> Iterator[Piece]:
    """Pieces of `size` pages, the last of at most as many. `runs`: of each shard, by URI."""
    rows: list[dict[str, Any]] = []
    room = size
    for uri, first, end in ((uri, *run) for uri, of_shard in runs.items() for run in of_shard):
        start = first
        while start < end:
            count = min(room, end - start)
            rows.append({"shard": uri, "start": start, "rows": count})
            start, room = start + count, room - count
            if not room:
                yield Piece(rows)
                rows, room = [], size
    if rows:
        yield Piece(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceCounts:
    """What a piece has become.

    Attributes:
        piece: its name.
        digest: `pages_digest` of its pages, in hexadecimal.
        pages, examples, tokens: by split; plain dicts, as in JSON.
        filtered: refused pages, by filter.
        dead: pages that could not be encoded.
        missing, contradictory, cut, texts_cut: see `Card`.
    """

    piece: str
    digest: str
    pages: Mapping[str, int]
    examples: Mapping[str, int]
    tokens: Mapping[str, int]
    filtered: Mapping[str, int]
    dead: int
    missing: int
    contradictory: int
    cut: int
    texts_cut: int


def encode_piece(piece: Piece, encoder: Encoder, filters: Filters) -> tuple[pa.Table, list[DeadLetter], PieceCounts]:
    """The EXAMPLES of a piece, the dead letters of encoding it, and its counts."""
    pages = piece.read()
    passed, filtered = filtered_pages(pages, filters)
    examples, letters = encoder(passed)
    without_page = Counter(letter.reason for letter in letters if letter.page is None)
    counts = PieceCounts(
        piece=piece.name,
        digest=hex(pages_digest(passed["page_id"].to_pylist())),
        pages=dict(Counter(pages["split"].to_pylist())),
        examples=dict(Counter(examples["split"].to_pylist())),
        tokens={
            split: sum(len(chunk.flatten()) for chunk in part["input_ids"].chunks) for split, part in by_split(examples)
        },
        filtered=dict(filtered),
        dead=len(letters) - without_page.total(),
        missing=without_page[Reason.VALUE_NOT_FOUND],
        contradictory=without_page[Reason.CONTRADICTORY],
        cut=without_page[Reason.CUT],
        texts_cut=without_page[Reason.TEXT_CUT],
    )
    return examples, letters, counts


def card_of(encoder: Encoder, pieces: Sequence[PieceCounts], of_documents: Mapping[str, int]) -> Card:
    """The card of all pieces. `of_documents`: further counts, see `Card`."""

    def total(name: str) -> int:
        return sum(getattr(piece, name) for piece in pieces)

    def by_key(name: str, keys: Sequence[str]) -> dict[str, int]:
        return {key: sum(getattr(piece, name).get(key, 0) for piece in pieces) for key in keys}

    folders = tuple(data_set.folder for data_set in encoder.data_sets)
    filters = [field.name for field in fields(Filters)]
    return Card(
        task=encoder.task.name,
        max_length=encoder.max_length,
        labels=encoder.labels,
        sources=folders,
        pages=by_key("pages", SPLITS),
        examples=by_key("examples", SPLITS),
        dead=total("dead"),
        digest=digest_of(encoder, sum(int(piece.digest, 16) for piece in pieces)),
        missing=total("missing"),
        contradictory=total("contradictory"),
        cut=total("cut"),
        texts_cut=total("texts_cut"),
        filtered={name: count for name, count in by_key("filtered", filters).items() if count},
        documents=origin.names_of(folders),
        words=origin.word_sources(folders),
        learnt=tuple(one.to_json() for one in origin.word_source_counts(folders, pc.field("split") == "train")),
        **of_documents,
    )


def check_examples(card: Card, out: str) -> None:
    """Raise InputError if there is nothing to train on. `out`: folder of the examples."""
    folders = ", ".join(card.sources)
    if not card.examples["train"]:
        refused = f"; filters refused {card.filtered}" if card.filtered else ""
        raise InputError(
            f"no training page of {folders} has words that can be encoded{refused}; see {out}/{DEAD_LETTERS_FOLDER}"
        )
    if card.values and card.missing + card.contradictory == card.values:
        raise InputError(
            f"none of the {card.values} expected values in {folders} can be learned: {card.missing} occur on no page "
            f"of their document, and {card.contradictory} contradict others of it; {out}/{DEAD_LETTERS_FOLDER} lists "
            "the values; compare them with the types in [task.fields]"
        )


def by_split(examples: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The examples of each split that has some."""
    for split in SPLITS:
        part = examples.filter(pc.field("split") == split)
        if part.num_rows:
            yield split, part
