"""`layoutray evaluate` and `layoutray picture reliability` on small trained models."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from layoutray.checkpoint import EXAMPLE, Checkpoint, build_model, load, save
from layoutray.cli import calibrate, evaluate
from layoutray.cli.main import main
from layoutray.cli.shared.measured import MeasuredPages
from layoutray.document import Document, Field, Page
from layoutray.document.signals import Reference
from layoutray.document.tags import spans
from layoutray.document.word_source import WordSource
from layoutray.errors import InputError
from layoutray.evaluation.page_selection import PageSelection
from layoutray.inference.extractor import Extractor
from layoutray.inference.generation import TextGenerator
from layoutray.recipe import recipes
from layoutray.store import codec, shards
from layoutray.tasks import document_fields_of
from layoutray.tasks.generate_fields import written_fields
from tests import documents
from tests.documents import train_on_fields, values
from tests.jobs import NO_DROPOUT, job, pages, recipe, vocabulary, write_pages
from tests.mlflow_store import new_store
from tests.store.test_sources import server  # noqa: F401  (a fixture)
from tests.training.runs import alone


def receipt_document(receipt: Page) -> Document:
    """The tagged values of a receipt, without their boxes."""
    values = [
        (kind, " ".join(word.text for word in receipt.words[start:end]))
        for kind, start, end in spans([word.tag for word in receipt.words])
    ]
    return Document(
        doc_id=receipt.doc_id,
        source=receipt.source,
        split=receipt.split,
        num_pages=1,
        fields=tuple(Field(*value) for value in values),
    )


@pytest.fixture(scope="module")
def trained_on_values(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[Page]]:
    """A checkpoint trained on the values of pages without boxes, the folder of these pages, and the pages."""
    tmp_path = tmp_path_factory.mktemp("values")
    fields = {name: {"type": "text", "many": True} for name in ("date", "total")}
    settings = recipe("entities_bioes", model=NO_DROPOUT, steps=150, learning_rate=5e-3).to_dict()
    made = pages(6)
    shards.write(
        codec.documents_table(map(receipt_document, made)), str(tmp_path / "ingested" / "documents"), "part.parquet"
    )
    one = job(tmp_path, recipes.from_dict(settings | {"task": {"name": "entities_bioes", "fields": fields}}), made)
    alone(one)
    return Path(one.out), tmp_path / "ingested", made


def test_an_extractor_learns_from_values_without_boxes(
    trained_on_values: tuple[Path, Path, list[Page]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint, ingested, made = trained_on_values
    report = tmp_path / "report.json"
    tracking = new_store(tmp_path)
    words = [
        str(checkpoint),
        str(ingested),
        "--split",
        "train",
        "--json",
        str(report),
        "--tracking-uri",
        tracking,
    ]
    assert evaluate.main(words) == 0
    shown = capsys.readouterr().err
    assert "with a value" in shown
    assert "F1 of all fields: " in shown
    assert "ece" not in shown
    reported = json.loads(report.read_text())
    assert (reported["words"], reported["learnt_words"], reported["warnings"]) == ("annotation", ["annotation"], [])
    scores = reported["metrics"]
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
    assert evaluate.main([*words, "--without", str(left_out), "--all"]) == 0
    assert "ece_uncalibrated" in capsys.readouterr().err
    of_one = json.loads(report.read_text())
    assert of_one["split"] == "train_without_all but one"
    assert 0 < of_one["metrics"]["support"] < scores["support"] / 2
    left_out.write_text("\n".join(page.doc_id for page in made))
    with pytest.raises(InputError, match="or all of its documents are excluded"):
        evaluate.main([*words, "--without", str(left_out)])
    with pytest.raises(InputError, match="must be a text file with one doc_id per line"):
        evaluate.main([*words, "--without", str(tmp_path / "nowhere.txt")])
    picture = tmp_path / "reliability.png"
    words = [
        str(checkpoint),
        str(ingested),
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


def test_wrong_characters_lower_the_f1(trained_on_values: tuple[Path, Path, list[Page]], tmp_path: Path) -> None:
    checkpoint, ingested, _ = trained_on_values
    report = tmp_path / "report.json"
    words = [str(checkpoint), str(ingested), "--split", "train", "--json", str(report)]
    assert evaluate.main([*words, "--noise", "0.05", "0.9", "--tracking-uri", new_store(tmp_path)]) == 0
    scores = json.loads(report.read_text())["metrics"]
    assert scores["field_f1"] >= scores["field_f1_noise_5"] > scores["field_f1_noise_90"]


def test_noise_is_refused_where_no_f1_is_measured(short: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="task summary has no F1 of fields or entities"):
        evaluate.main([*short, "--split", "train", "--noise", "0.1"])
    with pytest.raises(SystemExit):
        evaluate.main([*short, "--noise", "1.5"])
    assert "'1.5' is not a share" in capsys.readouterr().err


def test_a_calibrated_checkpoint_says_what_it_accepts(
    trained_on_values: tuple[Path, Path, list[Page]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint, ingested, made = trained_on_values
    pages_and_split = [str(ingested), "--split", "train", "--tracking-uri", new_store(tmp_path)]
    report, calibrated = tmp_path / "report.json", tmp_path / "calibrated"
    goal = ["--precision", "0.5", "--risk", "0.2", "--second-looks"]
    assert main(["calibrate", str(checkpoint), *pages_and_split, *goal, "--out", str(calibrated)]) == 0
    assert load(calibrated).version != load(checkpoint).version, "other answers need another version"
    assert all(field.second_look for field in document_fields_of(load(calibrated).recipe.task).values())
    with pytest.raises(InputError, match="has second looks; give the checkpoint without them"):
        calibrate.main([str(calibrated), *pages_and_split, *goal, "--out", str(tmp_path / "twice")])
    assert (calibrated / EXAMPLE).read_bytes() == (checkpoint / EXAMPLE).read_bytes()
    assert evaluate.main([str(calibrated), *pages_and_split, "--json", str(report)]) == 0
    scores = json.loads(report.read_text())["metrics"]
    assert min(scores["field_f1"], scores["accepted"], scores["accepted_precision"]) > 0.8
    with pytest.raises(InputError, match="is not empty; give another folder"):
        calibrate.main([str(checkpoint), *pages_and_split, "--out", str(calibrated)])
    capsys.readouterr()
    assert main(["calibrate", str(checkpoint), *pages_and_split, "--out", str(tmp_path / "strict")]) == 0
    assert "needs at least 230 answers, all of them right, and there are 6" in " ".join(capsys.readouterr().err.split())
    reference = Reference.from_json(load(tmp_path / "strict").provenance["documents"])
    extractor = Extractor.load(tmp_path / "strict")
    answers = [[one for one in extractor.answer_fields([page]) if one.name == "total"] for page in made]
    totals = [max((one.confidence for one in found), default=0.0) for found in answers]
    assert sorted(reference.samples["value of total"]) == pytest.approx(sorted(totals), abs=1e-4)
    assert sorted(reference.samples["words"]) == sorted(len(page.words) for page in made)


@pytest.mark.slow
def test_a_model_that_generates_text_memorises_the_fields_of_eight_documents(tmp_path: Path) -> None:
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
    assert evaluate.main([*words, "--beams", "2", "--tracking-uri", new_store(tmp_path)]) == 0
    scores = json.loads(report.read_text())["metrics"]
    names = ("field_f1", "field_f1.total", "field_precision", "field_recall.Opening Word", "exact_f1", "accepted_at_99")
    assert [scores[name] for name in names] == [1] * len(names)
    assert scores["field_ece"] < 0.2
    assert scores["perplexity"] < 1.2
    assert "rouge1" not in scores


def test_documents_without_the_checkpoints_fields_are_refused(tmp_path: Path) -> None:
    chosen, whole = documents.recipe("generate_fields"), documents.pages(0)
    model = build_model(chosen, vocabulary(), ())
    save(
        tmp_path / "model",
        Checkpoint(recipe=chosen, labels=(), tokenizer=vocabulary(), model=model, metrics={"step": 0}, provenance={}),
    )
    write_pages(tmp_path / "ingested", whole)
    documents.write_documents(tmp_path / "ingested", [documents.document(whole, "a summary")])
    words = [
        str(tmp_path / "model"),
        str(tmp_path / "ingested"),
        "--split",
        "train",
        "--tracking-uri",
        new_store(tmp_path),
    ]
    with pytest.raises(
        InputError,
        match="of the checkpoint's fields Opening Word, total; fields of these documents: summary; choose a data set",
    ):
        evaluate.main(words)


def test_memorised_summaries_have_full_scores(
    trained_on_summaries: tuple[Path, list[list[Page]]], tmp_path: Path
) -> None:
    """The best of several summaries counts; the first is learned."""
    checkpoint, _ = trained_on_summaries
    report = tmp_path / "report.json"
    tracking = new_store(tmp_path)
    options = ["--split", "train", "--beams", "2", "--json", str(report), "--tracking-uri", tracking]
    assert evaluate.main([str(checkpoint), str(checkpoint.parent / "ingested"), *options]) == 0
    found = json.loads(report.read_text())
    assert (
        min(
            found["metrics"][f"{kind}{side}"]
            for kind in ("rouge1", "rouge2", "rougeL")
            for side in ("", "_low", "_high")
        )
        > 0.9
    )
    assert (found["dead"], found["cut"]) == (0, 0)
    assert found["metrics"]["perplexity"] < 1.2


@pytest.fixture
def short(tmp_path: Path) -> list[str]:
    """Of `evaluate`: a checkpoint that reads and writes few tokens, and three documents for training."""
    chosen = documents.recipe(max_length=20)
    chosen = replace(chosen, task=replace(chosen.task, writing=replace(chosen.task.writing, max_length=3)))
    save(
        tmp_path / "model",
        Checkpoint(
            recipe=chosen,
            labels=(),
            tokenizer=vocabulary(),
            model=build_model(chosen, vocabulary(), ()),
            metrics={"step": 0},
            provenance={},
        ),
    )
    wholes = [documents.pages(number) for number in range(3)]
    write_pages(tmp_path / "ingested", [page for whole in wholes for page in whole])
    documents.write_documents(
        tmp_path / "ingested", [documents.document(whole, documents.summary(whole)) for whole in wholes]
    )
    return [str(tmp_path / "model"), str(tmp_path / "ingested"), "--tracking-uri", new_store(tmp_path)]


def test_cut_documents_and_cut_texts_are_counted_separately(
    short: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main([*short, "--split", "train"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (found["cut"], found["texts_cut"], found["words"]) == (3, 3, "annotation")
    assert "on train, 3 documents" in shown.err
    assert "3 documents have more tokens than max_length, 20;" in shown.err
    assert "3 target texts have more tokens than task.writing.max_length, 3;" in shown.err


def test_an_empty_split_is_refused_with_the_splits_that_have_pages(short: list[str]) -> None:
    with pytest.raises(InputError, match="pages available: 6 in train; choose another split with --split"):
        evaluate.main([*short, "--split", "dev"])


def test_documents_without_summaries_are_refused_with_the_first_reason(short: list[str], tmp_path: Path) -> None:
    bare = documents.pages(5)
    write_pages(tmp_path / "bare", bare)
    documents.write_documents(tmp_path / "bare", [documents.with_fields(bare)])
    with pytest.raises(InputError, match=f"can be measured: {bare[0].source} has no summary"):
        evaluate.main([short[0], str(tmp_path / "bare"), "--split", "train", *short[2:]])


@pytest.mark.usefixtures("server")
def test_a_calibrated_checkpoint_goes_to_a_bucket(
    trained_on_values: tuple[Path, Path, list[Page]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, ingested, _ = trained_on_values
    monkeypatch.chdir(tmp_path)
    words = [str(checkpoint), str(ingested), "--split", "train", "--tracking-uri", new_store(tmp_path)]
    calibrate.main([*words, "--precision", "0.5", "--risk", "0.2", "--out", "s3://scans/calibrated"])
    assert load("s3://scans/calibrated").labels == load(checkpoint).labels
    assert not (tmp_path / "s3:").exists()


def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        evaluate.main(["no checkpoint", "no pages", "--json", str(tmp_path)])
    assert "is a folder; give a file" in capsys.readouterr().err


def test_words_of_another_source_are_told(trained_on_values: tuple[Path, Path, list[Page]]) -> None:
    _, ingested, _ = trained_on_values
    measured = MeasuredPages(PageSelection((str(ingested),), "train"))
    (warning,) = measured.other_words([WordSource(words="ocr")])
    assert "learnt from words of ocr, and these are of annotation" in warning
