"""Bulk writing answers every document that went in, once."""

import dataclasses
import json
from pathlib import Path

import pytest
from ray.data import DataContext

from layoutray import checkpoint
from layoutray import checkpoint as checkpoints
from layoutray.checkpoint import Checkpoint
from layoutray.cluster.answer_job import JobIdentity
from layoutray.cluster.predict import predict
from layoutray.cluster.progress import Progress
from layoutray.cluster.write import WrittenTexts
from layoutray.document import Page
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.inference.generation import TextGenerator
from layoutray.prepare import answer_plan
from layoutray.store import codec, shards
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import FIELDS, TEXTS
from layoutray.tasks.generate_fields import written_fields
from tests.documents import document, pages, recipe, values, write_documents
from tests.jobs import vocabulary, write_pages

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]


def test_every_document_has_a_row_whatever_became_of_it(tmp_path: Path) -> None:
    chosen = recipe(max_length=100)
    model = checkpoint.build_model(chosen, vocabulary(), ())
    checkpoint.save(
        tmp_path / "checkpoint",
        Checkpoint(recipe=chosen, labels=(), tokenizer=vocabulary(), model=model, metrics={}, provenance={}),
    )
    wholes = [pages(number) for number in range(5)]
    lost = pages(9)
    write_pages(tmp_path / "ingested", [page for whole in wholes for page in whole])
    write_documents(tmp_path / "ingested", [document(whole) for whole in (*wholes, lost)])
    error = DocumentError(Reason.BAD_ANNOTATION, "is no text", stage="annotation")
    letters = [
        DeadLetter.of(error, source="a.txt"),
        DeadLetter.of(error, lost[0].source, doc_id=lost[0].doc_id, page_id="x", page=1),
    ]
    shards.write(codec.dead_letters_table(letters), str(tmp_path / "ingested" / "dead_letters"), "part-x.parquet")

    heard: list[Progress] = []
    done = predict(tmp_path / "checkpoint", str(tmp_path / "ingested"), str(tmp_path / "out"), progress=heard.append)
    assert [(one.stage, one.done, one.total) for one in (heard[0], heard[-1])] == [("write", 0, 6), ("write", 6, 6)]
    expected = TextGenerator.load(tmp_path / "checkpoint").write(wholes)
    cut = sum(text.tokens_read < text.tokens for text in expected)
    assert done == WrittenTexts(answered=5, failed=2, cut=cut, fields=0, without_fields=0, new=6)
    assert 0 < cut < 5
    rows = {row["source"]: row for row in shards.read(str(tmp_path / "out" / "parquet"), TEXTS).to_pylist()}
    assert {rows[source]["status"] for source in ("a.txt", lost[0].source)} == {"failure"}
    for whole, text in zip(wholes, expected, strict=True):
        row = rows[whole[0].source]
        assert (row["status"], row["text"], row["tokens"], row["tokens_read"]) == (
            "success",
            text.text,
            text.tokens,
            text.tokens_read,
        )
    lines = [
        json.loads(line) for file in (tmp_path / "out" / "jsonl").iterdir() for line in file.read_text().splitlines()
    ]
    assert {line["source"]: line for line in lines} == rows


def test_a_rerun_reads_only_the_documents_that_are_missing_or_have_another_page(
    trained_on_fields: tuple[Path, list[list[Page]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_plan, "_DOCUMENTS_PER_UNIT", 3)
    checkpoint, wholes = trained_on_fields
    out = tmp_path / "out"
    write_documents(tmp_path / "ingested", [document(whole) for whole in wholes])
    all_pages = [page for whole in wholes for page in whole]
    ingested = write_pages(tmp_path / "ingested", all_pages[:-1])
    first = predict(checkpoint, ingested, str(out))
    assert (first.answered, first.new) == (8, 8)
    assert predict(checkpoint, ingested, str(out)) == dataclasses.replace(first, new=0)
    with pytest.raises(InputError, match=r"another job: options\.beams is 1 there and 2 here"):
        predict(checkpoint, ingested, str(out), identity=JobIdentity.of(checkpoints.load(checkpoint), ingested, 2))
    lost = sorted((out / "parquet").iterdir())[0]
    missing = shards.read_shard(str(lost)).num_rows
    lost.unlink()
    again = predict(checkpoint, ingested, str(out))
    assert again == dataclasses.replace(first, new=missing)
    write_pages(tmp_path / "ingested", all_pages)
    grown = predict(checkpoint, ingested, str(out))
    assert grown.new == 2, "the unit of the document whose second page has been added"
    texts = {row["doc_id"]: row["text"] for row in shards.read(str(out / "parquet"), TEXTS).to_pylist()}
    expected = TextGenerator.load(checkpoint).write(wholes)
    assert texts == {whole[0].doc_id: text.text for whole, text in zip(wholes, expected, strict=True)}
    assert grown.fields == shards.read(str(out / "fields"), FIELDS).num_rows == sum(len(values(one)) for one in wholes)


def test_documents_that_take_longer_than_ray_waits_for_a_sign_of_life_are_written_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = recipe()
    model = checkpoint.build_model(chosen, vocabulary(), ())
    checkpoint.save(
        tmp_path / "checkpoint",
        Checkpoint(recipe=chosen, labels=(), tokenizer=vocabulary(), model=model, metrics={}, provenance={}),
    )
    write_pages(tmp_path / "ingested", pages(0))
    write_documents(tmp_path / "ingested", [document(pages(0))])
    monkeypatch.setattr(DataContext.get_current(), "execution_no_progress_timeout_s", 0.1)
    assert predict(tmp_path / "checkpoint", str(tmp_path / "ingested"), str(tmp_path / "out")).answered == 1


def test_fields_that_are_written_have_rows_of_their_own(
    trained_on_fields: tuple[Path, list[list[Page]]], tmp_path: Path
) -> None:
    checkpoint, wholes = trained_on_fields
    done = predict(checkpoint, str(checkpoint.parent / "ingested"), str(tmp_path / "out"))
    assert done == WrittenTexts(
        answered=8, failed=0, cut=0, fields=sum(len(values(whole)) for whole in wholes), without_fields=0, new=8
    )
    rows = shards.read(str(tmp_path / "out" / "fields"), FIELDS).to_pylist()
    assert len(rows) == done.fields
    generator = TextGenerator.load(checkpoint)
    for whole, text in zip(wholes, generator.write(wholes), strict=True):
        expected = written_fields(text.lines, whole, generator.fields)
        mine = [row for row in rows if row["doc_id"] == whole[0].doc_id]
        assert [(row["name"], row["value"], row["content"]) for row in mine] == [
            (one.name, one.value, one.content) for one in expected
        ]
        assert [row["confidence"] for row in mine] == pytest.approx([one.confidence for one in expected], rel=1e-3)
        assert {(row["source"], row["model_version"]) for row in mine} == {(whole[0].source, generator.model_version)}
        assert {(row["page"], *row["polygons"]) for row in mine} == {(0,)}
    said = {row["text"] for row in shards.read(str(tmp_path / "out" / "parquet"), TEXTS).to_pylist()}
    assert said == {text.text for text in generator.write(wholes)}
