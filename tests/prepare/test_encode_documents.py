"""Examples of whole documents: one each, whichever of their pages come together."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from layoutray.batching.collate import collate
from layoutray.batching.examples import ExampleSet, TableBlocks
from layoutray.document import Field, Page
from layoutray.document.field_lines import parse
from layoutray.document.filters import Filters
from layoutray.errors import InputError
from layoutray.prepare.encode import Encoder, vocabulary_for
from layoutray.prepare.whole_documents import whole_documents
from layoutray.recipe.recipes import TokenizerRecipe
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from layoutray.store.schema import EXAMPLES, PAGES
from layoutray.tasks import fields_of
from tests.documents import document, pages, recipe, summary, values, with_fields, with_writing, write_documents
from tests.jobs import vocabulary

VOCABULARY = vocabulary()
WHOLES = [pages(number) for number in range(3)]
UNSEEN = [pages(8)[0]]


def table(made: list[Page]) -> pa.Table:
    """As PAGES rows."""
    return codec.pages_table(made, [f"{one.source} {one.number}" for one in made])


@pytest.fixture
def data_set(tmp_path: Path) -> DataSet:
    made = [*(whole[1] for whole in WHOLES), *(whole[0] for whole in WHOLES), *UNSEEN]
    for at in range(0, len(made), 2):
        shards.write(table(made[at : at + 2]), DataSet(str(tmp_path)).pages, f"part-{at}.parquet")
    write_documents(tmp_path, [*(document(whole, summary(whole), "another") for whole in WHOLES), document(UNSEEN)])
    return DataSet(str(tmp_path))


def encoder(data_set: DataSet, max_length: int = 160, longest_text: int = 30) -> Encoder:
    task = with_writing(recipe(), max_length=longest_text).task
    return Encoder(
        task=task, max_length=max_length, labels=(), vocabulary=VOCABULARY.inner.to_str(), data_sets=(data_set,)
    )


def test_documents_are_whole_and_in_order(data_set: DataSet) -> None:
    ids = {whole[0].doc_id for whole in WHOLES[:2]}
    found = {one.doc_id: made for one, made in whole_documents([data_set], ids)}
    assert found.keys() == ids
    for whole in WHOLES[:2]:
        for known in ([], whole[1:], whole):
            ((_, made),) = whole_documents([data_set], [whole[0].doc_id], known)
            assert [[word.text for word in page.words] for page in made] == [
                [word.text for word in page.words] for page in whole
            ]


def test_a_document_is_one_example_with_the_text_to_write(data_set: DataSet) -> None:
    made = [encoder(data_set)(part) for part in (table([one]) for whole in WHOLES for one in whole)]
    assert [letters for _, letters in made] == [[]] * 6
    assert [examples.num_rows for examples, _ in made] == [1, 0] * 3, "it comes with its first page"
    together, _ = encoder(data_set)(shards.read(data_set.pages, PAGES))
    key = [("doc_id", "ascending")]
    assert together.sort_by(key) == pa.concat_tables(examples for examples, _ in made).sort_by(key)
    for row, whole in zip(
        pa.concat_tables(examples for examples, _ in made if examples.num_rows).to_pylist(), WHOLES, strict=True
    ):
        assert (row["doc_id"], row["page"], row["window"]) == (whole[0].doc_id, 1, 0)
        words = [word.text for page in whole for word in page.words]
        assert row["input_ids"][1:-1] == [piece for word in VOCABULARY.words_to_ids(words) for piece in word]
        assert row["labels"] == [*VOCABULARY.text_to_ids(summary(whole)), VOCABULARY.end_id]


def test_texts_of_other_lengths_than_documents_are_read_and_collated(data_set: DataSet) -> None:
    examples = ExampleSet(TableBlocks(encoder(data_set)(shards.read(data_set.pages, PAGES))[0]))
    expected = {whole[0].doc_id: [*VOCABULARY.text_to_ids(summary(whole)), VOCABULARY.end_id] for whole in WHOLES}
    batch = collate(list(examples), VOCABULARY.pad_id)
    assert batch.labels is not None
    for example, labels in zip(examples, batch.labels.tolist(), strict=True):
        assert [label for label in labels if label >= 0] == expected[example.doc_id]
    assert batch.labels.shape[1] < batch.input_ids.shape[1]


def test_what_is_longer_than_the_model_takes_is_cut_and_told(data_set: DataSet) -> None:
    examples, letters = encoder(data_set, 20, longest_text=3)(table(WHOLES[0][:1]))
    (row,) = examples.to_pylist()
    whole, text = WHOLES[0], VOCABULARY.text_to_ids(summary(WHOLES[0]))
    length = 2 + sum(map(len, VOCABULARY.words_to_ids([word.text for page in whole for word in page.words])))
    assert (len(row["input_ids"]), row["labels"]) == (20, text[:3]), "a text that goes on has no end"
    assert [(letter.page, letter.doc_id) for letter in letters] == [(None, whole[0].doc_id)] * 2
    assert [(letter.reason, letter.message) for letter in letters] == [
        (
            "cut",
            f"the document has {length} tokens, only the first 20 are used; increase max_length to use more",
        ),
        (
            "text_cut",
            f"the expected text has {len(text)} tokens, only the first 3 are used; "
            "increase task.writing.max_length to use more",
        ),
    ]


def test_a_document_without_a_summary_is_a_dead_letter(data_set: DataSet) -> None:
    examples, (letter,) = encoder(data_set)(table(UNSEEN))
    assert examples == EXAMPLES.empty_table()
    assert (letter.reason, letter.page, letter.page_id) == ("bad_annotation", 1, f"{UNSEEN[0].source} 1")


def test_vocabularies_have_the_names_of_fields_that_are_to_be_written(data_set: DataSet, tmp_path: Path) -> None:
    task = recipe("generate_fields").task
    write_documents(tmp_path, [with_fields(whole, *values(whole), Field("other", "ω")) for whole in WHOLES])
    trained = vocabulary_for(TokenizerRecipe(vocab_size=120), [data_set], Filters(), task)
    lines = trained.ids_to_text(trained.text_to_ids("Opening Word: total\ntotal: 9"))
    assert parse(lines, fields_of(task)) == [Field("Opening Word", "total"), Field("total", "9")]
    assert trained.words_to_ids(["ω"]) == [[trained.unknown_id]]
    trained.inner.save(str(tmp_path / "tokenizer.json"))
    loaded = TokenizerRecipe(path=str(tmp_path / "tokenizer.json"))
    assert vocabulary_for(loaded, [data_set], Filters(), task).vocab_size == trained.vocab_size
    VOCABULARY.inner.save(str(tmp_path / "tokenizer.json"))
    assert vocabulary_for(loaded, [data_set], Filters(), recipe().task).vocab_size == VOCABULARY.vocab_size
    with pytest.raises(
        InputError, match=r"turns the line 'Opening Word: Opening Word' into .*, which does not name the field"
    ):
        vocabulary_for(loaded, [data_set], Filters(), task)


def test_a_document_that_is_known_in_part_teaches_no_text(tmp_path: Path) -> None:
    first, second = WHOLES[:2]
    shards.write(table([*first, *second]), DataSet(str(tmp_path)).pages, "part-1.parquet")
    partial = replace(document(first, summary(first)), partial=True)
    write_documents(tmp_path, [partial, document(second, summary(second))])
    examples, letters = encoder(DataSet(str(tmp_path)))(table([*first, *second]))
    assert {*examples["doc_id"].to_pylist()} == {second[0].doc_id}
    assert [letter.reason for letter in letters if letter.doc_id == first[0].doc_id] == ["not_annotated"]
