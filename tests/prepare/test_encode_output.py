"""Pieces become files in an order that follows from the examples alone."""

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from layoutray.prepare import encode_output
from layoutray.prepare.encode_output import EncodeOutput
from layoutray.prepare.pieces import PieceCounts
from layoutray.store.example_files import read_table
from layoutray.store.schema import EXAMPLES
from tests.batching.test_examples import row


def rows(count: int) -> list[dict[str, object]]:
    """Two windows of each document, every fifth document in dev."""
    return [
        row(window, None)
        | {
            "doc_id": hashlib.sha256(str(number).encode()).hexdigest(),
            "window": window,
            "split": "train" if number % 5 else "dev",
            "input_ids": [number] * (number % 7 + 2),
        }
        for number in range(count)
        for window in (0, 1)
    ]


def counts(name: str, piece: Sequence[dict[str, Any]]) -> PieceCounts:
    tokens: Counter[str] = Counter()
    for one in piece:
        tokens[one["split"]] += len(one["input_ids"])
    nothing: dict[str, Any] = dict.fromkeys(("dead", "missing", "contradictory", "cut", "texts_cut"), 0)
    return PieceCounts(piece=name, digest="", pages={}, examples={}, tokens=dict(tokens), filtered={}, **nothing)


def encoded(folder: Path, pieces: Sequence[Sequence[dict[str, object]]]) -> EncodeOutput:
    output = EncodeOutput(str(folder))
    for number, piece in enumerate(pieces):
        examples = pa.Table.from_pylist(list(piece), schema=EXAMPLES)
        output.write_piece(examples, [], counts(f"part-{number}", piece))
    written = [one for number in range(len(pieces)) if (one := output.counts(f"part-{number}"))]
    for split, together in output.sorts(written):
        output.sort(split, together)
    files = list(output.files(written))
    tables = [output.write_file(file) for file in files]
    for split in ("train", "dev"):
        output.finish_split(split, [table for file, table in zip(files, tables, strict=True) if file.split == split])
    output.remove_pieces()
    return output


@pytest.mark.parametrize("tokens_per_file", [10**9, 200])
def test_the_files_do_not_depend_on_how_pages_were_sharded(
    tokens_per_file: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode_output, "_TOKENS_PER_FILE", tokens_per_file)
    made = rows(100)
    mixed = random.Random(3).sample(made, len(made))
    few, many = tmp_path / "few", tmp_path / "many"
    encoded(few, [made])
    encoded(many, [mixed[start : start + 9] for start in range(0, len(mixed), 9)])
    files = [
        {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.arrow")} for folder in (few, many)
    ]
    assert files[0] == files[1]
    assert len(files[0]) == (4 if tokens_per_file > 200 else 8), "files and an index of each split"
    ids = read_table(str(many / "train")).select(["doc_id", "window"]).to_pylist()
    expected = [(one["doc_id"], one["window"]) for one in made if one["split"] == "train"]
    assert [(one["doc_id"], one["window"]) for one in ids] == sorted(expected)  # type: ignore[type-var]
    assert {file.name for file in many.iterdir()} == {"train", "dev"}
