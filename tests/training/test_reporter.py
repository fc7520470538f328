"""Reporters tell what they were told."""

import json
from pathlib import Path

import pytest

from layoutray.training.reporter import CompositeReporter, JsonLines, training_minutes
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
