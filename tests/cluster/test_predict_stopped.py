"""A bulk prediction that is stopped, or loses a worker: every page is answered once. `make chaos` kills its driver.

Daily, `test_predict.py` continues a run from the files that a killed one leaves, and `test_ingest.py` kills a worker of
the same kind of Ray Data pipeline.
"""

from pathlib import Path

import psutil
import pytest

from layoutray.cluster.predict import predict
from layoutray.cluster.progress import Progress
from layoutray.inference.extractor import Extractor
from layoutray.prepare import answer_plan
from layoutray.store import shards
from layoutray.store.schema import ANSWERS, FIELDS
from layoutray.tasks.field_answers import field_answers
from tests.cluster.checkpoints import save_untrained
from tests.cluster.two_nodes import marked
from tests.jobs import pages, write_pages

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("cluster_to_harm")]
MADE = pages(30)


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(answer_plan, "_PAGES_PER_UNIT", 2)
    save_untrained(tmp_path / "checkpoint", fields={"date": {"many": True}, "total": {}})
    return tmp_path / "checkpoint"


def answered(out: Path) -> list[str]:
    rows = shards.read(str(out / "parquet"), ANSWERS).group_by(["source", "page"]).aggregate([])
    return sorted(rows["source"].to_pylist())


class StoppedError(Exception):
    pass


def test_a_stopped_prediction_goes_on_where_it_was(checkpoint: Path, tmp_path: Path) -> None:
    ingested, out = write_pages(tmp_path / "ingested", MADE), tmp_path / "out"

    def stop(progress: Progress) -> None:
        if progress.done >= 8:
            raise StoppedError

    with pytest.raises(StoppedError):
        predict(checkpoint, ingested, str(out), progress=stop)
    assert not (out / "answers.json").exists()
    done = predict(checkpoint, ingested, str(out))
    assert 0 < done.new <= 22
    assert (done.answered, done.failed) == (30, 0)
    assert answered(out) == sorted(page.source for page in MADE)
    extractor = Extractor.load(checkpoint)
    expected = [field_answers(entities, extractor.fields) for entities in extractor.extract(MADE)]
    assert done.fields == shards.read(str(out / "fields"), FIELDS).num_rows == sum(map(len, expected))
    assert done.without_fields == expected.count(())
    assert done.fields > 0


def test_a_worker_that_dies_costs_nothing(checkpoint: Path, tmp_path: Path) -> None:
    ingested, out = write_pages(tmp_path / "ingested", MADE), tmp_path / "out"
    killed: list[int] = []

    def kill_one(progress: Progress) -> None:
        if progress.done and not killed:
            workers = marked(psutil.Process().children(recursive=True), "_AllStages")
            workers[0].kill()
            killed.append(workers[0].pid)

    done = predict(checkpoint, ingested, str(out), progress=kill_one)
    assert killed
    assert (done.answered, done.failed, done.new) == (30, 0, 30)
    assert answered(out) == sorted(page.source for page in MADE)
