"""`layoutray promise`: a registered model accepts more as soon as reviewed answers show it, and they still count."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from layoutray import checkpoint
from layoutray.cli.main import main
from layoutray.review.documents import AnsweredDocument
from layoutray.review.store import ReviewStore
from layoutray.review.values import Prediction
from layoutray.tasks import document_fields_of
from layoutray.tracking import registered, runs
from tests.cluster.checkpoints import save_untrained
from tests.mlflow_store import new_store


def test_the_champion_accepts_what_reviewed_answers_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uri = new_store(tmp_path)
    save_untrained(tmp_path / "model", fields={"date": {}, "total": {}})
    run = runs.create_run(uri, "tests", "run", {}, {})
    run.log_checkpoint(tmp_path / "model")
    run.register("forms")
    store = ReviewStore.open(str(tmp_path / "review.db"))
    name = checkpoint.load(tmp_path / "model").recipe.name
    said = Prediction(name="total", text="7", value="7", confidence=0.97, accepted=False, page=1, words=(), polygons=())
    for number in range(30):
        document = AnsweredDocument(
            doc_id=f"d{number}", source="", model_id=name, model_version="1", pages=(), said=(said,)
        )
        found = store.review(store.add(document))
        assert found
        store.save(found.entry.number, 0, [replace(found.values[0], state="confirmed")], done=True, reviewer="anna")
    store.close()

    def promise(*more: str) -> dict[str, dict[str, object]]:
        words = ["--review", str(tmp_path / "review.db"), "--precision", "0.9", "--tracking-uri", uri]
        assert main(["promise", "forms", *words, *more]) == 0
        return {one["field"]: one for one in json.loads(capsys.readouterr().out)["promises"]}

    assert promise()["total"]["lowered"] == 0.0
    assert promise("--out", str(tmp_path / "lower"))["date"]["lowered"] is None
    folder, version = registered.checkpoint_folder("models:/forms@champion", uri)
    schema = document_fields_of(checkpoint.load(folder).recipe.task)
    assert (version, schema["total"].accept_from, schema["date"].accept_from) == ("2", 0.0, None)
    now = promise("--out", str(tmp_path / "again"))
    assert (now["total"]["documents"], now["total"]["lowered"], now[""]["documents"]) == (30, None, 30)
    assert not (tmp_path / "again").exists(), "nothing is lower"
