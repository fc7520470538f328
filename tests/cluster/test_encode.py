"""Encoding over the cluster gives the rows that one process gives."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from layoutray import tokenizer
from layoutray.cluster.connect import connect
from layoutray.cluster.encode import encode
from layoutray.document import Page
from layoutray.errors import InputError, SchemaError
from layoutray.prepare.encode import Encoder, digest_of, labels_for, vocabulary_for
from layoutray.store import codec, shards
from layoutray.store.card import Card
from layoutray.store.schema import DEAD_LETTERS, EXAMPLES
from tests.jobs import page, pages, recipe, write_pages

pytestmark = pytest.mark.ray
RECIPE = recipe("entities", max_length=24)


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with connect(cores=2):
        yield


def untagged(one: Page) -> Page:
    return dataclasses.replace(one, words=tuple(dataclasses.replace(word, tag=None) for word in one.words))


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: (row["doc_id"], row["page"], row["window"]))


def test_rows_vocabulary_and_card_are_those_of_one_process_and_stay(tmp_path: Path) -> None:
    made = [*pages(30, 6), untagged(page(99))]
    folders = [write_pages(tmp_path / "a", made[:20]), write_pages(tmp_path / "b", made[20:])]
    out = str(tmp_path / "examples")
    card = encode(RECIPE, folders, out)

    inside = [f"{folder}/pages" for folder in folders]
    vocabulary, labels = vocabulary_for(RECIPE.tokenizer, inside), labels_for(RECIPE.task, inside)
    table = codec.pages_table(made, [f"page-{one.source}" for one in made])
    encoder = Encoder(RECIPE.task, RECIPE.max_length, labels, vocabulary.inner.to_str())
    expected, dead = encoder(table)
    for split in ("train", "dev"):
        assert rows(shards.read(f"{out}/{split}", EXAMPLES)) == [row for row in rows(expected) if row["split"] == split]
    assert tokenizer.load(out).inner.to_str() == vocabulary.inner.to_str()
    assert [letter.doc_id for letter in codec.dead_letters_of(shards.read(f"{out}/dead_letters", DEAD_LETTERS))] == [dead[0].doc_id]
    assert Card.read(out) == card
    assert (card.pages, card.dead, card.labels) == ({"train": 31, "dev": 6, "test": 0}, 1, labels)
    assert sum(card.examples.values()) == expected.num_rows
    assert card.digest == digest_of(encoder, table["page_id"].to_pylist())

    with pytest.raises(InputError, match="already holds encoded examples"):
        encode(RECIPE, folders, out)
    Path(out, "dataset.json").unlink()  # as a killed run leaves it
    with pytest.raises(InputError, match="did not finish"):
        encode(RECIPE, folders, out)


def test_what_cannot_be_encoded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is for training"):
        encode(RECIPE, [write_pages(tmp_path / "dev", pages(0, 3))], str(tmp_path / "out"))
    with pytest.raises(SchemaError, match=r"no \.parquet shards"):
        encode(RECIPE, [str(tmp_path / "nowhere")], str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
