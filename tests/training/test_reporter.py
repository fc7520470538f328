"""Reporters tell what they were told."""

import json
from pathlib import Path

import pytest

from layoutray.training.reporter import (
    CompositeReporter,
    JsonLines,
    ProgressBar,
    training_minutes,
)
from tests.store.test_sources import server  # noqa: F401  (a fixture)
from tests.training.runs import History, read_history


def test_all_of_several_hear_everything(tmp_path: Path) -> None:
    history, lines = History(), JsonLines(tmp_path / "history.jsonl")
    together = CompositeReporter([history, lines])
    together.start(0, 2)
    together.metrics(1, {"loss": 2.0})
    together.saved(1, tmp_path)
    together.metrics(2, {"loss": 1.0, "dev.f1": 0.5})
    together.saved(2, tmp_path)
    assert history.series == {"loss": [(1, 2.0), (2, 1.0)], "dev.f1": [(2, 0.5)]}
    rows = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    times = [row.pop("time") for row in rows if row["event"] != "metrics"]
    assert times == sorted(times)
    assert rows == [
        {"event": "start", "step": 0, "steps": 2},
        {"event": "metrics", "step": 1, "loss": 2.0},
        {"event": "saved", "step": 1},
        {"event": "metrics", "step": 2, "loss": 1.0, "dev.f1": 0.5},
        {"event": "saved", "step": 2},
    ]


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("place", ["disk", "s3"])
def test_of_a_step_that_is_trained_again_the_last_report_counts(place: str, tmp_path: Path) -> None:
    file = f"{tmp_path if place == 'disk' else 's3://scans/trained'}/history.jsonl"
    lines = JsonLines(file)
    lines.start(0, 3)
    lines.metrics(1, {"loss": 3.0})
    lines.metrics(2, {"loss": 2.0, "dev.f1": 0.25})
    lines.saved(2, tmp_path)
    lines.metrics(3, {"loss": 1.0})
    again = JsonLines(file)
    again.start(1, 3)
    again.metrics(2, {"loss": 1.5, "dev.f1": 0.5})
    again.saved(2, tmp_path)
    assert read_history(file) == {"loss": [(1, 3.0), (2, 1.5)], "dev.f1": [(2, 0.5)]}


def test_the_minutes_of_a_training_are_those_that_lead_to_a_state(tmp_path: Path) -> None:
    moments = [("start", 0), ("saved", 60), ("saved", 90), ("start", 1000), ("saved", 1030)]
    rows = [{"event": event, "step": 1, "time": 5000.0 + second} for event, second in moments]
    rows.insert(2, {"event": "metrics", "step": 1, "loss": 1.0})
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert training_minutes(tmp_path / "history.jsonl") == 2.0


def test_without_a_terminal_progress_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("tiny") as bar:
        bar.start(0, 100)
        for step in range(1, 100):
            bar.metrics(step, {"loss": 2.5, "learning_rate": 1.0})
        bar.metrics(50, {"dev.f1": 0.25})
        bar.metrics(100, {"loss": 1.5})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].split()[:4] == ["tiny", "1/100", "loss", "2.5"]
    assert lines[-2].split()[:4] == ["tiny", "50/100", "dev.f1", "0.25"]
    assert lines[-1].split() == ["tiny", "100/100", "loss", "1.5"]
    assert len(lines) <= 5, "at most one in five seconds, besides evaluations"


def test_a_log_says_the_time_left_and_no_hidden_metric(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("layoutray.training.reporter.time.monotonic", lambda: now[0])
    with ProgressBar("bills", hidden=("mfu",)) as bar:
        bar.start(10, 40)  # resumed
        for step, seconds in ((20, 100.0), (30, 140.0), (40, 60.0)):
            now[0] += seconds
            bar.metrics(step, {"loss": 0.5, "mfu": 0.25})
    assert capsys.readouterr().err.splitlines() == [
        "bills 20/40  loss 0.5  about 3 min left",
        "bills 30/40  loss 0.5  about 2 min left",
        "bills 40/40  loss 0.5",
    ]
