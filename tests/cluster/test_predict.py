"""Bulk prediction answers every page that went in, once."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from layoutray.cluster.connect import connect
from layoutray.cluster.predict import Prediction, predict
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.inference import Extractor
from layoutray.store import codec, shards
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import ANSWERS
from tests.cluster.checkpoints import save_untrained
from tests.jobs import pages, write_pages

pytestmark = pytest.mark.ray
MADE = pages(9)


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with connect(cores=2):
        yield


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    save_untrained(folder)
    return folder


def bury(folder: Path, *sources: str) -> None:
    error = DocumentError(Reason.ENCRYPTED, "is encrypted", stage="open")
    shards.write(
        codec.dead_letters_table(DeadLetter.of(error, source=source) for source in sources), str(folder / "dead_letters"), "part-x.parquet"
    )


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted((out / "jsonl").iterdir()) for line in file.read_text().splitlines()]


def test_every_page_and_every_dead_letter_is_answered_once(checkpoint: Path, tmp_path: Path) -> None:
    ingested, out = Path(write_pages(tmp_path / "ingested", MADE)), tmp_path / "answers"
    bury(ingested, "a.pdf", "b.pdf")
    done = predict(checkpoint, str(ingested), str(out))
    expected = Extractor.load(checkpoint).extract(MADE)
    assert done == Prediction(pages=11, failed=2, entities=sum(map(len, expected)))
    assert done.entities > 0
    answers = lines(out)
    assert Counter(answer["source"] for answer in answers) == Counter([*(one.source for one in MADE), "a.pdf", "b.pdf"])
    for page, entities in zip(MADE, expected, strict=True):
        (answer,) = [answer for answer in answers if answer["source"] == page.source]
        assert (answer["status"], answer["model_id"]) == ("success", "untrained")
        assert [(entity["type"], entity["content"]) for entity in answer["entities"]] == [
            (entity.type, entity.content) for entity in entities
        ]
    (failure,) = [answer for answer in answers if answer["source"] == "a.pdf"]
    assert failure["status"] == "failure"
    assert failure["errors"][0] | {"code": "encrypted", "message": "is encrypted", "stage": "open"} == failure["errors"][0]


def test_the_table_says_what_the_lines_say(checkpoint: Path, tmp_path: Path) -> None:
    ingested, out = Path(write_pages(tmp_path / "ingested", MADE)), tmp_path / "answers"
    bury(ingested, "a.pdf")
    predict(checkpoint, str(ingested), str(out))
    rows = shards.read(str(out / "parquet"), ANSWERS).to_pylist()
    from_lines = Counter((answer["source"], entity["type"], entity["content"]) for answer in lines(out) for entity in answer["entities"])
    assert Counter((row["source"], row["type"], row["content"]) for row in rows if row["type"]) == from_lines
    assert {row["source"] for row in rows} == {answer["source"] for answer in lines(out)}, "pages without entities have a row too"


def test_a_folder_where_everything_failed_is_answered_too(checkpoint: Path, tmp_path: Path) -> None:
    bury(tmp_path / "ingested", "a.pdf", "b.pdf", "c.pdf")
    assert predict(checkpoint, str(tmp_path / "ingested"), str(tmp_path / "out")) == Prediction(3, 3, 0)


def test_answers_are_not_mixed_with_older_ones(checkpoint: Path, tmp_path: Path) -> None:
    ingested = write_pages(tmp_path / "ingested", MADE[:2])
    predict(checkpoint, ingested, str(tmp_path / "out"))
    with pytest.raises(InputError, match="holds answers already"):
        predict(checkpoint, ingested, str(tmp_path / "out"))
