import subprocess
import sys
from pathlib import Path

import pytest

from layoutray import readers
from layoutray.cluster.page_worker import DocumentOpener, PageWorker
from layoutray.ocr.settings import Recognition
from layoutray.prepare.output import Output
from layoutray.prepare.plan import make_plan
from layoutray.prepare.record_codecs import DOCUMENT_REF, OPENED_DOCUMENT, PAGE_TASK, from_table, to_table
from layoutray.recipe.ingest import IngestRecipe
from tests.readers.native import put

RECIPE = IngestRecipe(reader="funsd", words="annotation")


def test_a_worker_does_not_pay_for_training() -> None:
    imports = "import sys, layoutray.cluster.page_worker"
    code = f"{imports}; print([name for name in ('torch', 'transformers', 'mlflow') if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


@pytest.mark.parametrize(("seconds", "rows"), [(1000.0, 1), (0.0, 20)])
def test_results_are_grouped_by_time_and_not_by_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, rows: int
) -> None:
    monkeypatch.setattr("layoutray.cluster.page_worker._SECONDS_PER_ROW", seconds)
    for number in range(20):
        entity = {"label": "other", "words": [{"text": f"Form {number}.", "box": [10, 10, 90, 20]}]}
        put(tmp_path / f"training_data/annotations/{number}.json", {"form": [entity] if number != 7 else None})
    references = readers.load(RECIPE.reader).discover(str(tmp_path))
    batch = to_table(map(DOCUMENT_REF.pack, references))
    opened = list(DocumentOpener(RECIPE.reader, RECIPE.words, Recognition())(batch))
    assert [table.num_rows for table in opened] == [1] * rows, "Ray needs a tenth of a second for each row"
    results = [result for table in opened for result in from_table(table, OPENED_DOCUMENT)]
    plan = make_plan(results, RECIPE, set_splits=["train"])
    out = Output(str(tmp_path / "out"))
    worker = PageWorker(RECIPE.reader, RECIPE.words, Recognition(), out.folder)
    receipts = list(worker(to_table(map(PAGE_TASK.pack, plan.page_tasks))))
    reasons = [reason for table in receipts for row in table["reasons"].to_pylist() for reason in row]
    assert len(plan.page_tasks) + len(plan.letters) == 20
    assert len(receipts) == min(rows, len(plan.page_tasks))
    assert reasons == [""] * len(plan.page_tasks)
    assert all(task in out.done() for task in plan.page_tasks)
