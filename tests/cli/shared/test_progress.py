from collections import Counter

import pytest

from layoutray.cli.shared.progress import ProgressDisplay, TrainingsDisplay
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
        one, other = TrainingsDisplay(progress, {"one": 4, "other": 6}).reporters.values()
        one.start(2, 4)
        other.start(0, 6)
        one.metrics(4, {"loss": 1.0})
        for step in range(1, 7):
            other.metrics(step, {"loss": 1.0})
    assert capsys.readouterr().err.splitlines()[-1].startswith("training, steps of all models: 10 of 10")
