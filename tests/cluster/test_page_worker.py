import json
import subprocess
import sys
from pathlib import Path

import pytest

from layoutray import readers
from layoutray.cluster.page_worker import DocumentOpener, PageWorker
from layoutray.ocr.settings import Recognition
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import items_table, opened_of, units_table
from layoutray.prepare.plan import plan_of
from layoutray.recipe import IngestRecipe

RECIPE = IngestRecipe("scitldr", words="annotation")


def test_a_worker_does_not_pay_for_training() -> None:
    code = "import sys, layoutray.cluster.page_worker; print([name for name in ('torch', 'transformers', 'mlflow') if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


@pytest.mark.parametrize(("seconds", "rows"), [(1000.0, 1), (0.0, 20)])
def test_rows_are_told_by_time_and_not_by_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, rows: int
) -> None:
    monkeypatch.setattr("layoutray.cluster.page_worker._TOGETHER", seconds)
    papers = [{"source": [f"Paper {number}."], "target": ["A paper."]} for number in range(20)]
    papers[7]["source"] = []
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, papers)))
    items = list(readers.load(RECIPE.reader).discover(str(tmp_path)))
    told = list(DocumentOpener(RECIPE.reader, RECIPE.words, Recognition())(items_table(items)))
    assert [table.num_rows for table in told] == [1] * rows, "Ray takes a tenth of a second for each row"
    plan = plan_of([one for table in told for one in opened_of(table)], RECIPE, own=["train"])
    out = Output(str(tmp_path / "out"))
    done = list(PageWorker(RECIPE.reader, RECIPE.words, Recognition(), out.root)(units_table(plan.units)))
    reasons = [reason for table in done for row in table["reasons"].to_pylist() for reason in row]
    assert len(plan.units) + len(plan.letters) == 20
    assert len(done) == min(rows, len(plan.units))
    assert reasons == [""] * len(plan.units)
    assert all(unit in out.done() for unit in plan.units)
