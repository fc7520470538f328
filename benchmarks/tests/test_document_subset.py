"""Parts of a data set and of its examples."""

from pathlib import Path

from benchmarks.measure.document_subset import training_documents, write_examples_of, write_pages_of
from layoutray.store.card import Card
from layoutray.store.data_set import DataSet
from layoutray.training.inputs import open_split
from tests.jobs import encode, pages, recipe


def test_a_part_has_the_documents_and_all_labels(tmp_path: Path) -> None:
    made = pages(5, 2)
    examples = Path(encode(tmp_path, recipe("entities", max_length=16), made))
    documents = training_documents(examples)
    assert documents == sorted(page.doc_id for page in made[:5])
    chosen = documents[1:3]
    write_examples_of(chosen, examples, tmp_path / "part")
    write_pages_of(chosen, tmp_path / "ingested", tmp_path / "labelled")
    assert {page.doc_id for page in DataSet(str(tmp_path / "labelled")).read_pages()} == set(chosen)
    card, part = Card.read(str(examples)), Card.read(str(tmp_path / "part"))
    assert {one.doc_id for one in open_split(str(tmp_path / "part"), "train")} == set(chosen)
    assert part.labels == card.labels, "also labels that no chosen document has"
    assert part.examples["train"] == len(open_split(str(tmp_path / "part"), "train")) > 2
    assert part.pages["train"] == 2
    assert not len(open_split(str(tmp_path / "part"), "dev"))
    assert part.digest != card.digest
