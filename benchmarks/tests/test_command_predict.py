import json
from pathlib import Path

import pytest

from benchmarks.commands.predict import main
from layoutray.errors import InputError
from layoutray.synthetic.render import render_set
from tests.cluster.checkpoints import save_untrained


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.ocr
@pytest.mark.usefixtures("cluster")
def test_pages_are_read_and_answered_in_every_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_untrained(tmp_path / "checkpoint", fields={"date": {"many": True}, "total": {}})
    render_set(tmp_path / "drawn", 4, seed=1)
    assert (
        main([str(tmp_path / "checkpoint"), str(tmp_path / "drawn"), "--pages", "3", "--rounds", "2", "--workers", "1"])
        == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert (report["pages"], report["failed"]) == (3, 0)
    assert report["fields"] > 0
    assert [sorted(one) for one in report["rounds"]] == [["answering (model)", "reading (OCR)"]] * 2
    assert all(seconds > 0 for one in report["rounds"] for seconds in one.values())


def test_a_model_without_fields_is_refused_before_the_ingest(tmp_path: Path) -> None:
    save_untrained(tmp_path / "checkpoint")
    with pytest.raises(InputError, match="extracts no fields of documents; take a model whose recipe has"):
        main([str(tmp_path / "checkpoint"), str(tmp_path)])
