"""ROUGE of a trained writer, through the verb."""

import json
from pathlib import Path

from pipelines import evaluate
from tests.documents import document, pages, recipe, summary, write_documents
from tests.jobs import job
from tests.training.runs import alone


def test_a_writer_that_knows_its_documents_has_full_scores(tmp_path: Path) -> None:
    wholes = [pages(number) for number in range(8)]
    # The best of several summaries counts; the first is learned.
    write_documents(tmp_path / "ingested", [document(whole, summary(whole), "nothing of it") for whole in wholes])
    one = job(tmp_path, recipe(), [page for whole in wholes for page in whole])
    alone(one)
    report = tmp_path / "report.json"
    tracking = f"sqlite:///{tmp_path}/mlflow.db"
    options = ["--split", "train", "--beams", "2", "--json", str(report), "--tracking-uri", tracking]
    assert evaluate.main([str(one.out), str(tmp_path / "ingested"), *options]) == 0
    said = json.loads(report.read_text())
    assert min(said["metrics"][f"{kind}{side}"] for kind in ("rouge1", "rouge2", "rougeL") for side in ("", "_low", "_high")) > 0.9
    assert (said["dead"], said["cut"]) == (0, 0)
    assert said["metrics"]["perplexity"] < 1.2
