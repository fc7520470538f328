"""Values that a model stated are truth only where they stand in their document."""

from pathlib import Path

from layoutray.document import Box, Document, Field, Page, Provenance, Word
from layoutray.document.answers import FieldAnswer
from layoutray.document.field_type import FieldType
from layoutray.evaluation.evaluate import evaluation_of_fields
from layoutray.evaluation.fields import AnsweredDocument
from layoutray.evaluation.model_labels import ModelLabels
from layoutray.prepare.whole_documents import read_documents
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet

SCHEMA = {"total": FieldType(type="amount"), "vendor": FieldType(type="name")}
TEXT = "Acme Ltd total 12.00"


def data_set(folder: Path, **said_by: str) -> str:
    """Documents with the same page and the same values, one of which stands nowhere."""
    words = tuple(Word(text=text, box=Box(0, 0, 1, 1)) for text in TEXT.split())
    fields = (Field("total", "12.00"), Field("vendor", "Invented Inc"))
    written = DataSet(str(folder))
    about = {"source": "a", "split": "train"}
    origin = Provenance(words="ocr", reason="")
    pages = [
        Page(doc_id=name, number=1, width=9, height=9, words=words, image="", provenance=origin, **about)
        for name in said_by
    ]
    documents = [
        Document(doc_id=name, num_pages=1, fields=fields, from_model=model, **about) for name, model in said_by.items()
    ]
    shards.write(codec.pages_table(pages, [*said_by]), written.pages, "part.parquet")
    shards.write(codec.documents_table(documents), written.documents, "part.parquet")
    return written.folder


def answer(name: str, value: str) -> FieldAnswer:
    return FieldAnswer(name=name, value=value, content=value, confidence=0.9, score=0.9, bounding_regions=())


def test_a_value_of_a_model_that_stands_nowhere_is_no_truth(tmp_path: Path) -> None:
    labels = ModelLabels.of([data_set(tmp_path, ours="", its="big")], SCHEMA)
    assert labels.stated_by == {"its": "big"}
    assert labels.not_found == {"its": (Field("vendor", "Invented Inc"),)}
    expected = [Field("total", "12.00"), Field("vendor", "Invented Inc")]
    answers = [answer("total", "12"), answer("vendor", "ACME LTD.")]
    both = evaluation_of_fields(SCHEMA, [AnsweredDocument(expected, answers, name) for name in ("ours", "its")])
    known = labels.known(both)
    assert [[one.name for one in document.expected] for document in known.documents] == [["total", "vendor"], ["total"]]
    assert [[one.name for one in document.answers] for document in known.documents] == [["total", "vendor"], ["total"]]
    assert known.metrics()["field_f1"] == 2 / 3, "what a person stated stays an error"


def test_values_that_a_person_corrected_in_a_later_folder_are_those_of_the_person(tmp_path: Path) -> None:
    first, later = data_set(tmp_path / "a", one="big", other="big"), data_set(tmp_path / "b", one="")
    assert ModelLabels.of([first, later], SCHEMA).stated_by == {"other": "big"}
    documents = [*read_documents([DataSet(first), DataSet(later)])]
    assert [(one.doc_id, one.from_model) for one in documents] == [("other", "big"), ("one", "")]
