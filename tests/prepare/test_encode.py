"""PAGES become EXAMPLES; a page without truth becomes a dead letter and costs no other page."""

import dataclasses
from pathlib import Path

import pyarrow as pa

from layoutray import tasks
from layoutray.document import Page
from layoutray.document.filters import Filters
from layoutray.prepare.encode import Encoder, digest_of, labels_for, pages_digest, vocabulary_for
from layoutray.recipe.recipes import TokenizerRecipe
from layoutray.store import codec
from layoutray.store.data_set import DataSet
from layoutray.store.schema import EXAMPLES
from layoutray.tasks.entities import Entities
from layoutray.tasks.entities_bioes import EntitiesBioes
from tests.jobs import page, pages, vocabulary, write_pages

VOCABULARY = vocabulary()
LABELS = ("O", "B-date", "I-date", "B-total", "I-total")


def encoder(task: str = "entities", max_length: int = 24) -> Encoder:
    return Encoder(
        task=tasks.load(task)(),
        max_length=max_length,
        labels=LABELS if task == "entities" else (),
        vocabulary=VOCABULARY.inner.to_str(),
    )


def table(made: list[Page]) -> pa.Table:
    return codec.pages_table(made, [one.source for one in made])


def untagged(one: Page) -> Page:
    return dataclasses.replace(one, words=tuple(dataclasses.replace(word, tag=None) for word in one.words))


def test_rows_are_the_windows_of_the_pages_in_order() -> None:
    made = pages(3, 1)
    examples, dead = encoder()(table(made))
    assert examples.schema == EXAMPLES
    assert not dead
    rows = examples.to_pylist()
    assert [row["doc_id"] for row in rows] == sorted(
        (row["doc_id"] for row in rows), key=[one.doc_id for one in made].index
    )
    for one in made:
        mine = [row for row in rows if row["doc_id"] == one.doc_id]
        assert [row["window"] for row in mine] == list(range(len(mine)))
        assert {row["split"] for row in mine} == {one.split}
        assert {(row["page_width"], row["page_height"]) for row in mine} == {(one.width, one.height)}
        words = [
            word for row in mine for word, label in zip(row["word_index"], row["labels"], strict=True) if label >= 0
        ]
        assert sorted(set(words)) == list(range(len(one.words)))


def test_a_page_without_truth_is_a_dead_letter() -> None:
    made = [page(1), untagged(page(2)), page(3)]
    examples, dead = encoder()(table(made))
    assert set(examples["doc_id"].to_pylist()) == {made[0].doc_id, made[2].doc_id}
    (letter,) = dead
    assert (letter.doc_id, letter.page_id, letter.page, letter.stage, letter.reason) == (
        made[1].doc_id,
        made[1].source,
        1,
        "encode",
        "bad_annotation",
    )


def test_masked_lm_needs_no_truth() -> None:
    examples, dead = encoder("masked_lm")(table([untagged(page(2))]))
    assert (examples["labels"].null_count, dead) == (examples.num_rows, [])


def test_the_vocabulary_is_trained_on_training_pages_alone(tmp_path: Path) -> None:
    dev = dataclasses.replace(
        page(9, "dev"), words=tuple(dataclasses.replace(word, text="ω") for word in page(9).words)
    )
    data_sets = [DataSet(write_pages(tmp_path, [*pages(4), dev]))]
    trained = vocabulary_for(TokenizerRecipe(vocab_size=100), data_sets, Filters())
    assert trained.words_to_ids(["ω"]) == [[trained.unknown_id]]
    VOCABULARY.inner.save(str(tmp_path / "tokenizer.json"))
    assert vocabulary_for(TokenizerRecipe(path=str(tmp_path)), data_sets, Filters()).vocab_size == VOCABULARY.vocab_size


def test_labels_come_from_all_pages_of_all_data_sets(tmp_path: Path) -> None:
    tagged = (("a", [untagged(page(1))]), ("b", pages(24)))
    data_sets = [DataSet(write_pages(tmp_path / name, made)) for name, made in tagged]
    assert labels_for(tasks.load("entities")(), data_sets) == LABELS
    assert labels_for(tasks.load("masked_lm")(), data_sets) == ()


def test_labels_are_of_tagged_words_alone(tmp_path: Path) -> None:
    first, *others = page(1).words
    made = dataclasses.replace(
        page(1), words=(dataclasses.replace(first, tag="title"), *(dataclasses.replace(w, tag=None) for w in others))
    )
    assert labels_for(tasks.load("layout_labels")(), [DataSet(write_pages(tmp_path, [made]))]) == ("title",)


def test_the_digest_changes_with_pages_settings_and_vocabulary_but_not_with_order() -> None:
    both = pages_digest(["a", "b"])
    digest = digest_of(encoder(), both)
    assert digest == digest_of(encoder(), pages_digest(["b", "a"]))
    assert digest == digest_of(encoder(), pages_digest(["a"]) + pages_digest(["b"])), "parts can be added"
    others = {
        digest_of(encoder(), pages_digest(["a"])),
        digest_of(encoder(max_length=25), both),
        digest_of(encoder("masked_lm"), both),
    }
    assert len(others | {digest}) == 4


def test_a_word_of_which_nobody_knows_the_tag_has_no_target() -> None:
    for task in (Entities(), EntitiesBioes()):
        known = page(1)
        at = [word.tag for word in known.words].index("O")
        words = [dataclasses.replace(word, tag="?") if n == at else word for n, word in enumerate(known.words)]
        labels = task.label_names([[word.tag or "" for word in known.words]])
        made = dataclasses.replace(encoder(), task=task, labels=labels)
        rows = [made(table([one]))[0].to_pylist() for one in (known, dataclasses.replace(known, words=tuple(words)))]
        targets = [
            [(row["word_index"][n], label) for row in of_one for n, label in enumerate(row["labels"])]
            for of_one in rows
        ]
        changed = [before for before, after in zip(*targets, strict=True) if before != after]
        assert {word for word, _ in changed} == {at}
        assert all(label == -100 for word, label in targets[1] if word == at)
