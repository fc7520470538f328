"""Where a verb may write to an object store, it does; where it may not, it says so instead of writing beside it."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from layoutray.cli.main import main
from layoutray.cli.shared import terminal
from layoutray.readers import load
from layoutray.store import sources
from tests.store.test_sources import server  # noqa: F401  (a fixture)


@pytest.mark.usefixtures("server")
def test_pages_and_reports_go_to_a_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["synthesize", "s3://scans/drawn", "--count", "3"]) == 0
    reader = load("synthetic")
    assert all(reader.read(reference).pages for reference in reader.discover("s3://scans/drawn"))
    terminal.show_report({"f1": 0.5}, "s3://scans/reports/new/report.json")
    terminal.show_report({"f1": 0.5}, "new/report.json")
    assert json.loads(capsys.readouterr().out.splitlines()[0]) == {"f1": 0.5}
    written = sources.read_bytes("s3://scans/reports/new/report.json")
    assert json.loads(written) == {"f1": 0.5}
    assert Path("new/report.json").read_bytes() == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new"]


@pytest.mark.parametrize(
    "words",
    [
        ["keys", "create", "ann", "--keys", "s3://bucket/keys.db"],
        ["serve", "model", "--keys", "s3://bucket/keys.db"],
        ["serve", "model", "--audit", "s3://bucket/audit.jsonl"],
        ["serve", "model", "--review", "s3://bucket/review.db"],
        ["serve", "model", "--drift", "s3://bucket/drift.db"],
        ["review", "s3://bucket/answers"],
        ["demo", "--out", "s3://bucket/demo"],
        ["export", "dataset", "pages", "s3://bucket/data"],
    ],
)
def test_what_must_be_on_a_local_disk_is_refused_elsewhere(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with suppress(SystemExit):
        assert main(words) == 1
    assert "is an address; it must be a path on a local disk" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
