from collections import Counter

import pytest

from layoutray.cli.shared.progress import ProgressDisplay
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
