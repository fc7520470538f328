"""Bulk prediction answers every page that went in, once."""

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from layoutray.cluster.placement import Replicas
from layoutray.cluster.predict import Prediction, predict
from layoutray.cluster.progress import Progress
from layoutray.document import Box, Page
from layoutray.document.page import FormField
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.inference.extractor import Extractor
from layoutray.prepare import answer_plan
from layoutray.store import codec, shards
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import ANSWERS, FIELDS
from layoutray.tasks.field_answers import field_answers
from tests.cluster.checkpoints import save_untrained
from tests.jobs import pages, write_pages

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]
MADE = pages(9)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    save_untrained(folder)
    return folder


def bury(folder: Path, *sources: str) -> None:
    error = DocumentError(Reason.ENCRYPTED, "is encrypted", stage="open")
    shards.write(
        codec.dead_letters_table(DeadLetter.of(error, source=source) for source in sources),
        str(folder / "dead_letters"),
        "part-x.parquet",
    )


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted((out / "jsonl").iterdir()) for line in file.read_text().splitlines()]


@dataclass(frozen=True)
class Answered:
    """Attributes:
    ingested: the data set of MADE and two dead letters.
    out: its answers.
    heard: the progress meanwhile.
    """

    ingested: Path
    out: Path
    done: Prediction
    heard: list[Progress]


@pytest.fixture(scope="module")
def answered(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory, cluster: None) -> Answered:
    folder = tmp_path_factory.mktemp("answered")
    ingested, out, heard = Path(write_pages(folder / "ingested", MADE)), folder / "answers", list[Progress]()
    bury(ingested, "a.pdf", "b.pdf")
    return Answered(ingested, out, predict(checkpoint, str(ingested), str(out), progress=heard.append), heard)


def test_every_page_and_every_dead_letter_is_answered_once(checkpoint: Path, answered: Answered) -> None:
    heard, done = answered.heard, answered.done
    assert [(one.stage, one.done, one.total) for one in (heard[0], heard[-1])] == [("answer", 0, 9), ("answer", 9, 9)]
    expected = Extractor.load(checkpoint).extract(MADE)
    assert done == Prediction(answered=9, failed=2, entities=sum(map(len, expected)), fields=0, without_fields=0, new=9)
    assert done.entities > 0
    answers = lines(answered.out)
    assert Counter(answer["source"] for answer in answers) == Counter([*(one.source for one in MADE), "a.pdf", "b.pdf"])
    for page, entities in zip(MADE, expected, strict=True):
        (answer,) = [answer for answer in answers if answer["source"] == page.source]
        assert (answer["status"], answer["model_id"]) == ("success", "untrained")
        assert [(entity["type"], entity["content"]) for entity in answer["entities"]] == [
            (entity.type, entity.content) for entity in entities
        ]
    (failure,) = [answer for answer in answers if answer["source"] == "a.pdf"]
    assert failure["status"] == "failure"
    assert (
        failure["errors"][0] | {"code": "encrypted", "message": "is encrypted", "stage": "open"} == failure["errors"][0]
    )


def test_the_table_says_what_the_lines_say(answered: Answered) -> None:
    out = answered.out
    rows = shards.read(str(out / "parquet"), ANSWERS).to_pylist()
    from_lines = Counter(
        (answer["source"], entity["type"], entity["content"]) for answer in lines(out) for entity in answer["entities"]
    )
    assert Counter((row["source"], row["type"], row["content"]) for row in rows if row["type"]) == from_lines
    assert {row["source"] for row in rows} == {answer["source"] for answer in lines(out)}, (
        "pages without entities have a row too"
    )


def test_a_few_pages_are_shared_by_all_replicas(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_plan, "_PAGES_PER_UNIT", 2)
    ingested, out = write_pages(tmp_path / "ingested", MADE), tmp_path / "answers"
    heard: list[Progress] = []
    assert predict(checkpoint, ingested, str(out), replicas=Replicas(2), progress=heard.append).answered == 9
    assert len(list((out / "parquet").iterdir())) == 5, "units of two pages, and one of a page"
    assert [one.done for one in heard][-1] == 9


def test_a_folder_where_everything_failed_is_answered_too(checkpoint: Path, tmp_path: Path) -> None:
    bury(tmp_path / "ingested", "a.pdf", "b.pdf", "c.pdf")
    assert predict(checkpoint, str(tmp_path / "ingested"), str(tmp_path / "out")) == Prediction(
        answered=0, failed=3, entities=0, fields=0, without_fields=0, new=0
    )


def documents() -> list[Page]:
    """A document of seven pages, the last without words; one of a page with a form field, and one with nothing."""
    long = [
        dataclasses.replace(page, doc_id="long", number=number, source="long.pdf")
        for number, page in enumerate(MADE[:7], 1)
    ]
    stated = FormField(name="sum", kind="text", value="7.10", on=None, drawn="9.00", box=Box(0, 0, 0.5, 0.25))
    filled = dataclasses.replace(MADE[7], form_fields=(stated,))
    return [*long[:6], dataclasses.replace(long[6], words=()), filled, dataclasses.replace(MADE[8], words=())]


def test_fields_of_a_document_are_those_of_all_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_plan, "_PAGES_PER_UNIT", 2)  # so that the document is in several shards
    save_untrained(tmp_path / "checkpoint", fields={"date": {"many": True}, "total": {"form_fields": ["sum"]}})
    made = documents()
    shuffled = [made[at] for at in (5, 2, 7, 0, 8, 4, 1, 6, 3)]
    table = codec.pages_table(shuffled, map(str, range(9)))
    shards.write(table, str(tmp_path / "ingested/pages"), "part-one.parquet")
    done = predict(tmp_path / "checkpoint", str(tmp_path / "ingested"), str(tmp_path / "out"))
    rows = shards.read(str(tmp_path / "out/fields"), FIELDS).to_pylist()
    extractor = Extractor.load(tmp_path / "checkpoint")
    entities = extractor.extract(made)
    for doc_id, source, found in (
        (made[0].doc_id, "long.pdf", sum(entities[:7], ())),
        (made[7].doc_id, made[7].source, entities[7]),
    ):
        expected = field_answers(found, extractor.fields)
        assert {answer.name for answer in expected} == {"date", "total"}
        assert [row for row in rows if row["doc_id"] == doc_id] == [
            {
                **{name: getattr(answer, name) for name in ("name", "value", "content", "known_value", "accepted")},
                **{name: getattr(answer, name) for name in ("form_field", "drawn")},
                "doc_id": doc_id,
                "source": source,
                "model_id": "untrained",
                "model_version": extractor.model_version,
                "confidence": pytest.approx(answer.confidence, rel=1e-5),
                "score": pytest.approx(answer.score, rel=1e-5),
                "page": answer.bounding_regions[0].page_number,
                "polygons": [pytest.approx(region.polygon, abs=1e-3) for region in answer.bounding_regions],
            }
            for answer in expected
        ]
    assert {row["doc_id"] for row in rows} == {made[0].doc_id, made[7].doc_id}
    assert (done.answered, done.fields, done.without_fields) == (9, len(rows), 1)
    assert len({row["page"] for row in rows if row["doc_id"] == "long"}) > 1
    (stated,) = [row for row in rows if row["form_field"]]
    assert (stated["doc_id"], stated["value"], stated["drawn"]) == (made[7].doc_id, "7.10", "9.00")


def sources_of(out: Path) -> list[str]:
    """Sources of the answered pages, as both the tables and the lines have them."""
    rows = shards.read(str(out / "parquet"), ANSWERS).select(["source", "page"]).to_pylist()
    answered = sorted(answer["source"] for answer in lines(out))
    assert {row["source"] for row in rows} == set(answered)
    return answered


def test_a_rerun_answers_only_what_is_missing(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_plan, "_PAGES_PER_UNIT", 2)
    ingested, out = write_pages(tmp_path / "ingested", MADE), tmp_path / "answers"
    bury(tmp_path / "ingested", "a.pdf")
    first = predict(checkpoint, ingested, str(out))
    assert (first.answered, first.failed, first.new) == (9, 1, 9)
    whole = {file.name: file.stat().st_mtime_ns for file in (out / "parquet").iterdir()}
    assert predict(checkpoint, ingested, str(out)) == dataclasses.replace(first, new=0)
    # What a killed run leaves: a shard that is missing, one whose lines only are there, and no manifest.
    *_, without_lines, without_table = sorted((out / "parquet").iterdir())
    without_table.unlink()
    (out / "jsonl" / without_lines.with_suffix(".jsonl").name).unlink()
    without_lines.unlink()
    (out / "parquet" / ".part-0.parquet.0.part").write_bytes(b"PAR1 half")
    (out / "answers.json").unlink()
    heard: list[Progress] = []
    again = predict(checkpoint, ingested, str(out), replicas=Replicas(2), progress=heard.append)
    assert dataclasses.replace(again, new=9) == first
    assert 0 < again.new <= 4
    assert (heard[0].total, heard[0].skipped) == (again.new, 9 - again.new)
    assert sources_of(out) == sorted([*(page.source for page in MADE), "a.pdf"])
    kept = {file.name for file in (out / "parquet").iterdir() if file.stat().st_mtime_ns == whole[file.name]}
    assert kept == whole.keys() - {without_lines.name, without_table.name}
    assert not list(out.rglob(".*"))


def test_answers_follow_the_data_set(checkpoint: Path, tmp_path: Path) -> None:
    ingested, out = write_pages(tmp_path / "ingested", MADE[:4]), tmp_path / "answers"
    bury(tmp_path / "ingested", "a.pdf", "b.pdf")
    predict(checkpoint, ingested, str(out))
    shards.write(
        codec.pages_table(MADE[4:], [page.source for page in MADE[4:]]), f"{ingested}/pages", "part-two.parquet"
    )
    bury(tmp_path / "ingested", "b.pdf")
    grown = predict(checkpoint, ingested, str(out))
    assert (grown.answered, grown.failed, grown.new) == (9, 1, 5)
    assert sources_of(out) == sorted([*(page.source for page in MADE), "b.pdf"])
    (tmp_path / "ingested/pages/part-one.parquet").unlink()
    shrunk = predict(checkpoint, ingested, str(out))
    assert (shrunk.answered, shrunk.failed, shrunk.new) == (5, 1, 0)
    assert sources_of(out) == sorted([*(page.source for page in MADE[4:]), "b.pdf"])


def test_another_job_is_refused_and_the_difference_named(checkpoint: Path, answered: Answered, tmp_path: Path) -> None:
    save_untrained(tmp_path / "other", fields={"total": {}})
    with pytest.raises(InputError, match=r'belongs to another job: model_version is "[0-9a-f]+" there and "'):
        predict(tmp_path / "other", str(answered.ingested), str(answered.out))
    with pytest.raises(InputError, match=r'another job: source is ".*ingested" there and ".*elsewhere" here; give'):
        predict(checkpoint, write_pages(tmp_path / "elsewhere", MADE), str(answered.out))
    (answered.out / "job.json").rename(tmp_path / "job.json")
    with pytest.raises(InputError, match=r"has content but no job\.json, so no job can continue there"):
        predict(checkpoint, str(answered.ingested), str(answered.out))
    (tmp_path / "job.json").rename(answered.out / "job.json")
