"""Encoding over the cluster gives the rows that one process gives."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from layoutray import tokenizer
from layoutray.cluster.encode import encode
from layoutray.cluster.progress import Progress
from layoutray.document import Document, Field, Page
from layoutray.document.field_type import FieldType
from layoutray.document.filters import Filters
from layoutray.errors import InputError, SchemaError
from layoutray.prepare.encode import Encoder, digest_of, labels_for, pages_digest, vocabulary_for
from layoutray.store import codec, example_files, shards
from layoutray.store.card import Card
from layoutray.store.data_set import DataSet
from layoutray.store.schema import DEAD_LETTERS
from layoutray.tasks.entities import Entities
from tests.jobs import page, pages, recipe, write_pages

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]
RECIPE = recipe("entities", max_length=24)


def untagged(one: Page) -> Page:
    return dataclasses.replace(one, words=tuple(dataclasses.replace(word, tag=None) for word in one.words))


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return table.sort_by([(name, "ascending") for name in ("doc_id", "page", "window")]).to_pylist()


def test_rows_vocabulary_and_card_are_those_of_one_process_and_stay(tmp_path: Path) -> None:
    made = [*pages(30, 6), untagged(page(99))]
    folders = [write_pages(tmp_path / "a", made[:20]), write_pages(tmp_path / "b", made[20:])]
    out = str(tmp_path / "examples")
    heard: list[Progress] = []
    card = encode(RECIPE, folders, out, progress=heard.append)
    assert [(one.stage, one.total) for one in heard if not one.done] == [("encode", 37), ("merge", 4)]
    assert {one.stage for one in heard if one.done == one.total} == {"encode", "merge"}

    data_sets = list(map(DataSet, folders))
    vocabulary = vocabulary_for(RECIPE.tokenizer, data_sets, RECIPE.filters)
    labels = labels_for(RECIPE.task, data_sets)
    table = codec.pages_table(made, [f"page-{one.source}" for one in made])
    encoder = Encoder(
        task=RECIPE.task, max_length=RECIPE.max_length, labels=labels, vocabulary=vocabulary.inner.to_str()
    )
    expected, dead = encoder(table)
    for split in ("train", "dev"):
        written = example_files.read_table(f"{out}/{split}").to_pylist()
        assert written == [row for row in rows(expected) if row["split"] == split], "sorted"
    assert tokenizer.load(out).inner.to_str() == vocabulary.inner.to_str()
    assert [letter.doc_id for letter in codec.dead_letters_of(shards.read(f"{out}/dead_letters", DEAD_LETTERS))] == [
        dead[0].doc_id
    ]
    assert Card.read(out) == card
    assert [one["words"] for one in card.learnt] == ["annotation"]
    assert (card.pages, card.dead, card.labels) == ({"train": 31, "dev": 6, "test": 0}, 1, labels)
    assert sum(card.examples.values()) == expected.num_rows
    assert card.digest == digest_of(encoder, pages_digest(table["page_id"].to_pylist()))
    assert {file.name for file in Path(out).iterdir()} == {
        *("train", "dev", "dead_letters", "dataset.json", "job.json", "prepared.json", "tokenizer.json")
    }

    heard.clear()
    assert encode(RECIPE, folders, out, progress=heard.append) == card, "the same call finds its work done"
    assert not heard
    with pytest.raises(InputError, match=r"another job: max_length is \d+ there and 25 here; give another --out"):
        encode(dataclasses.replace(RECIPE, max_length=25), folders, out)
    shards.write(table.slice(0, 1), f"{folders[0]}/pages", "part-two.parquet")
    with pytest.raises(InputError, match=r"belongs to another job: pages is"):
        encode(RECIPE, folders, out)


def test_an_interrupted_run_is_continued(tmp_path: Path) -> None:
    folder, whole, halted = write_pages(tmp_path / "pages", pages(600)), tmp_path / "whole", tmp_path / "halted"
    card = encode(RECIPE, [folder], str(whole))

    def receipts() -> dict[str, int]:
        return {file.name: file.stat().st_mtime_ns for file in halted.glob("pieces/*.json")}

    def halt(progress: Progress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode(RECIPE, [folder], str(halted), workers=1, progress=halt)
    made = receipts()
    assert made
    assert not (halted / "dataset.json").exists()
    kept: list[bool] = []

    def watch(progress: Progress) -> None:
        if progress.stage == "merge" and not progress.done:
            kept.append(made.items() <= receipts().items() and len(receipts()) == 3)

    assert encode(RECIPE, [folder], str(halted), workers=2, progress=watch) == card
    assert kept == [True], "what was encoded is not encoded again"
    assert example_files.read_table(f"{halted}/train") == example_files.read_table(f"{whole}/train")
    assert not (halted / "pieces").exists()


def test_what_cannot_be_encoded_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is in train"):
        encode(RECIPE, [write_pages(tmp_path / "dev", pages(0, 3))], str(tmp_path / "out"))
    with pytest.raises(SchemaError, match=r"nowhere is not a data set.*give a folder that `layoutray ingest`"):
        encode(RECIPE, [str(tmp_path / "nowhere")], str(tmp_path / "out"))
    with pytest.raises(SchemaError, match=rf"give the folder of the data set, {tmp_path}/dev$"):
        encode(RECIPE, [str(tmp_path / "dev/pages")], str(tmp_path / "out"))
    chosen = dataclasses.replace(recipe("summary"), filters=Filters(min_words=2))
    with pytest.raises(InputError, match="remove \\[filters\\]"):
        encode(chosen, [write_pages(tmp_path / "texts", pages(3))], str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_pages_that_do_not_pass_are_counted_by_filter_and_are_in_no_example_and_no_vocabulary(tmp_path: Path) -> None:
    odd = dataclasses.replace(page(99), words=page(99).words[:1])
    strange = dataclasses.replace(
        page(98), words=tuple(dataclasses.replace(word, text="ωψ") for word in page(98).words)
    )
    folder = write_pages(tmp_path, [*pages(5), odd, strange])
    chosen = dataclasses.replace(recipe("masked_lm", max_length=24), filters=Filters(min_words=2, languages=("en",)))
    card = encode(chosen, [folder], str(tmp_path / "out"))
    refused = {one.doc_id: chosen.filters.failed_filter(one) for one in [*pages(5), odd, strange]}
    assert refused[odd.doc_id] == "min_words"
    assert refused[strange.doc_id] == "languages"
    assert card.filtered == Counter(filter(None, refused.values()))
    encoded = set(example_files.read_table(str(tmp_path / "out/train"))["doc_id"].to_pylist())
    assert encoded == {doc_id for doc_id, refusal in refused.items() if not refusal}
    assert sum(card.pages.values()) == len(encoded) + sum(card.filtered.values()) + card.dead
    assert tokenizer.load(str(tmp_path / "out")).words_to_ids(["ω"]) == [
        [tokenizer.load(str(tmp_path / "out")).unknown_id]
    ]
    with pytest.raises(InputError, match=r"filters refused .*'min_words': 7"):
        encode(dataclasses.replace(chosen, filters=Filters(min_words=1000)), [folder], str(tmp_path / "none"))


def _with_values(tmp_path: Path, values: Sequence[Sequence[str]]) -> str:
    """A data set of one page for each document, whose field `party` has these values."""
    made = pages(len(values))
    folder = write_pages(tmp_path, made)
    documents = [
        Document(
            doc_id=one.doc_id,
            source=one.source,
            split="train",
            num_pages=1,
            fields=tuple(Field("party", value) for value in of_document),
        )
        for one, of_document in zip(made, values, strict=True)
    ]
    shards.write(codec.documents_table(documents), f"{folder}/documents", "part.parquet")
    return folder


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        ([["Nobody & Co."]] * 3, "party", "none of the 3 .* 3 occur on no page of their document, and 0 contradict"),
        (
            [["Nobody & Co.", "Other"], ["Nobody & Co."]],
            "party",
            "none of the 3 .* 1 occur on no page of their document, and 2 contradict",
        ),
        ([["Nobody & Co."]], "partie", "contains partie, .* the names are party"),
    ],
)
def test_values_that_cannot_be_learned_leave_nothing_to_learn(
    tmp_path: Path, values: Sequence[Sequence[str]], name: str, message: str
) -> None:
    folder = _with_values(tmp_path, values)
    with pytest.raises(InputError, match=message):
        encode(
            dataclasses.replace(RECIPE, task=Entities(fields={name: FieldType(type="name")})),
            [folder],
            str(tmp_path / "out"),
        )


def test_values_that_contradict_each_other_are_counted_and_listed(tmp_path: Path) -> None:
    word = pages(2)[1].words[0].text
    folder = _with_values(tmp_path, [["Acme Holding", "Other Ltd"], [word]])
    chosen = dataclasses.replace(RECIPE, task=Entities(fields={"party": FieldType(type="name")}))
    card = encode(chosen, [folder], str(tmp_path / "out"))
    assert (card.values, card.missing, card.contradictory) == (3, 0, 2)
    letters = codec.dead_letters_of(shards.read(str(tmp_path / "out/dead_letters"), DEAD_LETTERS))
    assert [letter.reason for letter in letters] == ["contradictory"] * 2


def test_a_document_of_two_data_sets_is_that_of_the_last(tmp_path: Path) -> None:
    made = pages(5)
    again = [dataclasses.replace(one, words=one.words[:4]) for one in made[1:4:2]]
    folders = [write_pages(tmp_path / "a", made), write_pages(tmp_path / "b", again)]
    card = encode(RECIPE, folders, str(tmp_path / "examples"))
    assert (card.superseded, card.pages["train"]) == (2, 5)
    table = example_files.read_table(str(tmp_path / "examples/train"))
    of_pages = Counter(row["doc_id"] for row in table.to_pylist())
    assert of_pages.keys() == {one.doc_id for one in made}
    longest = {
        one.doc_id: max(0, *(max(row["word_index"]) for row in table.to_pylist() if row["doc_id"] == one.doc_id))
        for one in made
    }
    assert all((longest[one.doc_id] == 3) == (number in (1, 3)) for number, one in enumerate(made))
