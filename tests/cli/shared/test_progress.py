from collections import Counter

import pytest

from layoutray.cli.shared.progress import ProgressDisplay, TrainingDisplay, of_trainings
from layoutray.cluster.progress import Progress


def test_a_log_gets_lines_and_the_last_one_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as progress:
        for done in range(1, 201):
            progress(Progress(stage="recognise", done=done, total=200, skipped=7, failures=Counter({"timeout": 2})))
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) < 10
    assert lines[-1].startswith("reading pages: 200 of 200 (")
    assert "7 done before" in lines[-1]
    assert "2 timeout" in lines[-1]


def test_trainings_are_shown_by_the_sum_of_their_steps(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as progress:
        one, other = of_trainings(progress, {"one": 4, "other": 6}).values()
        one.start(2, 4)
        other.start(0, 6)
        one.metrics(4, {"loss": 1.0})
        for step in range(1, 7):
            other.metrics(step, {"loss": 1.0})
    assert capsys.readouterr().err.splitlines()[-1].startswith("training, steps of all models: 10 of 10")


def test_a_training_shows_evaluations_the_time_left_and_no_hidden_metric(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("layoutray.cli.shared.progress.time.monotonic", lambda: now[0])
    with ProgressDisplay() as display:
        training = TrainingDisplay(display, "bills", ["mfu"])
        training.start(10, 40)  # resumed
        for step, seconds, values in (
            (20, 100.0, {"loss": 0.5, "mfu": 0.25, "learning_rate": 1.0}),
            (21, 1.0, {"loss": 0.5}),
            (30, 139.0, {"loss": 0.25}),
            (30, 0.0, {"dev.f1": 0.75}),
            (40, 1.0, {"loss": 0.125}),
        ):
            now[0] += seconds
            training.metrics(step, values)
    assert capsys.readouterr().err.splitlines() == [
        "bills: 20 of 40, about 3 min left (0.1/s, loss 0.5)",
        "bills: 30 of 40, about 2 min left (loss 0.25)",
        "bills: 30 of 40, about 2 min left (dev.f1 0.75)",
        "bills: 40 of 40 (0.1/s, loss 0.125)",
    ]
