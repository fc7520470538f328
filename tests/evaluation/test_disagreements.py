"""Answers that differ from what a model stated are reviewed, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.document import Box, Document, Field, Page
from layoutray.document.answers import FieldAnswer, regions_of
from layoutray.document.field_type import FieldType
from layoutray.evaluation.disagreements import disagreements
from layoutray.evaluation.evaluate import evaluation_of_fields
from layoutray.evaluation.fields import AnsweredDocument
from layoutray.evaluation.model_labels import ModelLabels
from layoutray.review import truth
from layoutray.review.documents import AnsweredDocument as ReviewedDocument
from layoutray.review.store import ReviewStore
from layoutray.review.values import Stated
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from tests.store.pages import page as made_page
from tests.store.pages import word

SCHEMA = {"total": FieldType(type="amount"), "vendor": FieldType(type="name"), "party": FieldType(many=True)}
TEXT = ("Acme", "Ltd", "tax", "2.00", "total", "12.00", "Bob", "Eve")


def page(doc_id: str) -> Page:
    return made_page(doc_id, 1, *(word(text, box=Box(at / 8, 0.5, (at + 1) / 8, 0.6)) for at, text in enumerate(TEXT)))


def answer(on: Page, name: str, *numbers: int, confidence: float = 0.9) -> FieldAnswer:
    words = [on.words[number] for number in numbers]
    text = " ".join(one.text for one in words)
    value = {"total": text.rstrip("0").rstrip("."), "vendor": "ACME LTD.", "party": text.upper()}[name]
    return FieldAnswer(
        name=name,
        value=value,
        content=text,
        confidence=confidence,
        score=confidence,
        bounding_regions=regions_of(on, words),
    )


def found(folder: Path, *documents: tuple[dict[str, list[str]], list[FieldAnswer]]) -> list[ReviewedDocument]:
    """The disagreements of documents named 0, 1 and so on, from their stated values and the answers."""
    data_set, ids = DataSet(str(folder)), [str(number) for number in range(len(documents))]
    stated = [
        tuple(Field(name, value) for name, values in of_one.items() for value in values) for of_one, _ in documents
    ]
    rows = [
        Document(doc_id=doc_id, source=doc_id, split="train", num_pages=1, fields=fields, from_model="big")
        for doc_id, fields in zip(ids, stated, strict=True)
    ]
    shards.write(codec.pages_table(map(page, ids), ids), data_set.pages, "part.parquet")
    shards.write(codec.documents_table(rows), data_set.documents, "part.parquet")
    answered = [
        AnsweredDocument(fields, answers, doc_id)
        for doc_id, fields, (_, answers) in zip(ids, stated, documents, strict=True)
    ]
    labels = ModelLabels.of([str(folder)], SCHEMA)
    return disagreements([str(folder)], evaluation_of_fields(SCHEMA, answered), labels, ("mine", "1"))


def test_what_both_say_needs_no_look_and_the_rest_shows_both(tmp_path: Path) -> None:
    on = page("0")
    answers = [answer(on, "total", 3), answer(on, "vendor", 0, 1), answer(on, "party", 6)]
    stated = {"total": ["12"], "vendor": ["ACME Ltd"], "party": ["Eve"]}
    (document,) = found(tmp_path, (stated, answers))
    shown = {(one.name, one.text): (one.needs_look, one.stated) for one in document.said}
    assert shown == {
        ("total", "2.00"): (True, Stated(by="big", text="12", page=1, words=(5,))),
        ("vendor", "Acme Ltd"): (False, None),
        ("party", "Bob"): (True, Stated(by="big", text="", page=None, words=())),
        ("party", ""): (True, Stated(by="big", text="Eve", page=1, words=(7,))),
    }
    assert {one.text: one.words for one in document.said} == {"2.00": (3,), "Acme Ltd": (0, 1), "Bob": (6,), "": ()}


def test_the_most_certain_differences_come_first_and_agreement_not_at_all(tmp_path: Path) -> None:
    on, right = page("0"), {"total": ["12.00"]}
    doubtful, certain = answer(on, "total", 3, confidence=0.4), answer(on, "total", 3, confidence=0.8)
    missing = {"total": ["12.00"], "vendor": ["Nobody Inc"]}
    documents = found(
        tmp_path,
        (right, [answer(on, "total", 5)]),
        (right, [doubtful]),
        (right, [certain]),
        (missing, [answer(on, "total", 5)]),
    )
    assert [(one.doc_id, one.rank) for one in documents] == [("2", 1), ("1", 2), ("3", 3)]
    (nowhere,) = (one for one in documents[-1].said if one.stated)
    assert nowhere.stated == Stated(by="big", text="Nobody Inc", page=None, words=())


@pytest.mark.parametrize("taken", [True, False])
def test_what_a_person_chose_is_truth_of_this_person(taken: bool, tmp_path: Path) -> None:
    (document,) = found(tmp_path, ({"total": ["12"]}, [answer(page("0"), "total", 3)]))
    store = ReviewStore.open(str(tmp_path / "review.db"))
    number = store.add(document)
    review = store.review(number)
    assert review
    (value,) = review.values
    stated = review.said[value.id].stated
    assert stated == document.said[0].stated, "as it was before it was stored"
    assert stated
    picked = replace(value, text=stated.text, page=stated.page, words=stated.words) if taken else value
    store.save(number, 0, [replace(picked, state="confirmed")], done=True, reviewer="anna")
    (finished,) = truth.reviewed(store, None)
    made = truth.document_of(finished, "train")
    assert (made.fields, made.from_model) == ((Field("total", "12" if taken else "2.00"),), "")
    (tagged,) = truth.pages_of(finished, "train")
    assert [number for number, one in enumerate(tagged.words) if one.tag == "B-total"] == [5 if taken else 3]
    store.close()
