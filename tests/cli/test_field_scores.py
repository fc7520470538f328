"""What people wrote, and what an extractor answers, as the scores of fields."""

import json
from pathlib import Path

import pytest
from PIL import Image

from layoutray import recipe as recipes
from layoutray.answers import FieldAnswer
from layoutray.checkpoint import Checkpoint, build_model, save
from layoutray.cli import evaluate
from layoutray.cli._field_scores import scores_of
from layoutray.cli._reliability import field_calibration
from layoutray.cli.main import main
from layoutray.document import Document, Field, Page
from layoutray.document.field_type import FieldType
from layoutray.document.tags import spans
from layoutray.errors import InputError
from layoutray.generation import TextGenerator
from layoutray.store import codec, shards
from layoutray.tasks.generate_fields import written_fields
from tests import documents
from tests.documents import train_on_fields, values
from tests.jobs import NO_DROPOUT, job, pages, recipe, vocabulary, write_pages
from tests.training.runs import alone

SCHEMA = {"party": FieldType("name", many=True), "total": FieldType("amount")}


def answer(name: str, value: str, content: str, confidence: float = 1.0) -> FieldAnswer:
    return FieldAnswer(name, value, content, confidence, confidence, ())


def test_values_are_compared_as_normal_forms_as_kleister_writes_them_and_as_they_stand() -> None:
    pairs = [
        (
            [Field("party", "Nike Inc."), Field("total", "RM 9.00")],
            [answer("party", "NIKE INC.", "NIKE, Inc."), answer("total", "9", "RM 9.00")],
        ),
        ([Field("party", "A")], []),
    ]
    scores = scores_of(pairs, SCHEMA)
    assert (scores["field_f1"], scores["field_recall.party"], scores["field_f1.total"]) == (
        pytest.approx(0.8),
        0.5,
        1.0,
    )
    assert scores["geval_f1"] == pytest.approx(2 * 1 / (2 + 3)), "the total was not written in its normal form"
    assert scores["exact_f1"] == pytest.approx(2 * 1 / (2 + 3)), "the party stands otherwise on the page"


def test_no_documents_are_no_mistakes() -> None:
    assert scores_of([], SCHEMA)["field_f1"] == 1.0
    assert field_calibration([], SCHEMA) == {
        "field_ece": 0,
        "accepted_at_99": 0,
        "accepted_at_99.party": 0,
        "accepted_at_99.total": 0,
    }


def test_fields_are_accepted_from_the_surest_on_each_for_itself() -> None:
    pairs = [
        (
            [Field("party", "A"), Field("total", "RM 1.00")],
            [answer("party", "A", "A", 0.75), answer("total", "1", "1.0", 0.5)],
        ),
        ([Field("party", "B"), Field("total", "2")], [answer("party", "B", "B", 0.5), answer("party", "C", "C", 0.25)]),
        ([Field("total", "3")], [answer("total", "4", "4", 1.0)]),
    ]
    assert field_calibration(pairs, SCHEMA) == {
        "field_ece": pytest.approx((0.25 + 0.5 + 0.5 + 0.25 + 1.0) / 5),
        "accepted_at_99": 0,
        "accepted_at_99.party": pytest.approx(2 / 3),
        "accepted_at_99.total": 0,
    }


def test_the_best_least_score_of_a_field_of_many_values_is_the_one_that_leaves_out_the_wrong_ones() -> None:
    pairs = [
        (
            [Field("party", "A"), Field("total", "1")],
            [answer("party", "A", "A", 0.75), answer("total", "2", "2", 0.125)],
        ),
        ([Field("party", "B"), Field("party", "D")], [answer("party", "B", "B", 0.5), answer("party", "C", "C", 0.25)]),
    ]
    scores = scores_of(pairs, SCHEMA)
    assert scores["best_min_score.party"] == 0.375, "halfway between B's and C's"
    assert "best_min_score.total" not in scores
    assert scores["field_f1.party"] == pytest.approx(2 * 2 / (3 + 3))


def document(of: Page) -> Document:
    """The tagged values of a receipt, without their places."""
    values = [
        (kind, " ".join(word.text for word in of.words[start:end]))
        for kind, start, end in spans([word.tag for word in of.words])
    ]
    return Document(of.doc_id, of.source, of.split, 1, tuple(Field(*value) for value in values))


def test_an_extractor_learns_from_values_alone(tmp_path: Path) -> None:
    fields = {name: {"type": "text", "many": True} for name in ("date", "total")}
    settings = recipe("entities_bioes", model=NO_DROPOUT, steps=150, learning_rate=5e-3).to_dict()
    made = pages(6)
    shards.write(codec.documents_table(map(document, made)), str(tmp_path / "ingested" / "documents"), "part.parquet")
    one = job(tmp_path, recipes.from_dict(settings | {"task": {"name": "entities_bioes", "fields": fields}}), made)
    alone(one)
    report = tmp_path / "report.json"
    tracking = f"sqlite:///{tmp_path}/mlflow.db"
    words = [
        str(one.out),
        str(tmp_path / "ingested"),
        "--split",
        "train",
        "--json",
        str(report),
        "--tracking-uri",
        tracking,
    ]
    assert evaluate.main(words) == 0
    scores = json.loads(report.read_text())["metrics"]
    assert min(scores["f1"], scores["field_f1"], scores["field_f1.date"], scores["geval_f1"], scores["exact_f1"]) > 0.9
    assert {
        "ece",
        "ece_uncalibrated",
        "field_ece",
        "accepted_at_99",
        "accepted_at_99.date",
        "accepted_at_99.total",
    } <= scores.keys()
    left_out = tmp_path / "all but one.txt"
    left_out.write_text("\n".join(page.doc_id for page in made[1:]))
    assert evaluate.main([*words, "--without", str(left_out)]) == 0
    of_one = json.loads(report.read_text())
    assert of_one["split"] == "train_without_all but one"
    assert 0 < of_one["metrics"]["support"] < scores["support"] / 2
    left_out.write_text("\n".join(page.doc_id for page in made))
    with pytest.raises(InputError, match="or all of it are left out"):
        evaluate.main([*words, "--without", str(left_out)])
    with pytest.raises(InputError, match="must have a doc_id in each line"):
        evaluate.main([*words, "--without", str(tmp_path / "nowhere.txt")])
    picture = tmp_path / "reliability.png"
    words = [
        str(one.out),
        str(tmp_path / "ingested"),
        "--split",
        "train",
        "--out",
        str(picture),
        "--tracking-uri",
        tracking,
    ]
    assert main(["picture", "reliability", *words]) == 0
    with Image.open(picture) as drawn:
        assert drawn.size == (720, 720)


def test_a_writer_learns_the_fields_of_eight_documents_by_heart(tmp_path: Path) -> None:
    checkpoint, wholes = train_on_fields(tmp_path)
    generator = TextGenerator.load(checkpoint)
    answers = [
        written_fields(text.lines, whole, generator.fields)
        for text, whole in zip(generator.write(wholes), wholes, strict=True)
    ]
    assert [{Field(one.name, one.content) for one in fields} for fields in answers] == [
        {*values(whole)} for whole in wholes
    ]
    assert all(0.5 < one.confidence <= 1 for fields in answers for one in fields)
    report = tmp_path / "report.json"
    words = [str(checkpoint), str(tmp_path / "ingested"), "--split", "train", "--json", str(report)]
    assert evaluate.main([*words, "--beams", "2", "--tracking-uri", f"sqlite:///{tmp_path}/mlflow.db"]) == 0
    scores = json.loads(report.read_text())["metrics"]
    names = ("field_f1", "field_f1.total", "field_precision", "field_recall.Opening Word", "exact_f1", "accepted_at_99")
    assert [scores[name] for name in names] == [1] * len(names)
    assert scores["field_ece"] < 0.2
    assert scores["perplexity"] < 1.2
    assert "rouge1" not in scores


def test_documents_that_state_no_wanted_field_are_not_scored_as_perfect(tmp_path: Path) -> None:
    chosen, whole = documents.recipe("generate_fields"), documents.pages(0)
    model = build_model(chosen, vocabulary(), ())
    save(tmp_path / "model", Checkpoint(chosen, (), vocabulary(), model, {"step": 0}, {}))
    write_pages(tmp_path / "ingested", whole)
    documents.write_documents(tmp_path / "ingested", [documents.document(whole, "a summary")])
    words = [
        str(tmp_path / "model"),
        str(tmp_path / "ingested"),
        "--split",
        "train",
        "--tracking-uri",
        f"sqlite:///{tmp_path}/mlflow.db",
    ]
    with pytest.raises(
        InputError, match="of the checkpoint's fields Opening Word, total; those there are summary; take a set"
    ):
        evaluate.main(words)
