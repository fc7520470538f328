"""EXAMPLES of any number with random content, in the files that `encode` writes."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import tokenizers
from numpy.typing import NDArray
from tokenizers import models

from layoutray.document.word_graph import MAX_NEIGHBOURS
from layoutray.store import example_files
from layoutray.store.schema import EXAMPLES
from layoutray.tensors import BOX_GRID
from layoutray.tokenizer import SPECIAL_TOKENS

VOCABULARY = 30_522
_ROWS_PER_FILE = 1 << 17
"""A file of windows with 24 tokens has 120 MiB."""


def generate(folder: Path, windows: int, tokens: int, seed: int = 0) -> None:
    """Write `windows` windows of one word a token as split `train` of `folder`, and a vocabulary.

    Args:
        tokens: of the longest windows; the shortest have half as many, and all lengths are equally frequent.
    """
    random = np.random.default_rng(seed)
    train = str(folder / "train")
    blocks: list[pa.Table] = []
    for start in range(0, windows, _ROWS_PER_FILE):
        table = _table(start, min(_ROWS_PER_FILE, windows - start), tokens, random)
        blocks.append(example_files.write_shard(table, train, f"part-{start:012}.arrow"))
    example_files.write_index(pa.concat_tables(blocks), train)
    pieces = [*SPECIAL_TOKENS, *(f"piece{number}" for number in range(len(SPECIAL_TOKENS), VOCABULARY))]
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizers.Tokenizer(models.WordPiece(ids, unk_token="[UNK]")).save(str(folder / "tokenizer.json"))


def _table(start: int, rows: int, tokens: int, random: np.random.Generator) -> pa.Table:
    lengths = random.integers(tokens // 2, tokens + 1, rows)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    total = int(ends[-1])
    corners = np.sort(random.integers(0, BOX_GRID + 1, (total, 2, 2), np.int16), axis=1)
    neighbours = random.integers(0, tokens // 2, (total, MAX_NEIGHBOURS), np.int16)
    word_index = np.arange(total) - np.repeat(ends[:-1], lengths)
    columns = {
        "doc_id": [f"{number:064x}" for number in range(start, start + rows)],
        "page": np.ones(rows, np.int32),
        "window": np.zeros(rows, np.int32),
        "split": ["train"] * rows,
        "input_ids": _lists(pa.array(random.integers(len(SPECIAL_TOKENS), VOCABULARY, total, np.int32)), ends),
        "boxes": _lists(pa.FixedSizeListArray.from_arrays(corners.reshape(-1), 4), ends),
        "word_index": _lists(pa.array(word_index.astype(np.int32)), ends),
        "neighbours": _lists(pa.FixedSizeListArray.from_arrays(neighbours.reshape(-1), MAX_NEIGHBOURS), ends),
        "page_width": np.full(rows, 600, np.int32),
        "page_height": np.full(rows, 800, np.int32),
        "labels": pa.nulls(rows, EXAMPLES.field("labels").type),
    }
    return pa.table(columns).cast(EXAMPLES)


def _lists(values: pa.Array, ends: NDArray[np.int64]) -> pa.LargeListArray:
    return pa.LargeListArray.from_arrays(ends, values)
