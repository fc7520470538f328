"""A clone without the shared data says in one line how many tests it skipped, and where the data comes from."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import skipped_on_real_data

REPOSITORY = Path(__file__).resolve().parents[1]


def test_only_skips_for_absent_data_are_counted() -> None:
    reasons = [
        "('a.py', 1, 'Skipped: /data does not exist; set LAYOUTRAY_DATA to a folder of that kind')",
        "('b.py', 2, 'Skipped: no skim*.json in /oracle; set LAYOUTRAY_ORACLE to a folder of oracle files')",
        "('c.py', 3, 'Skipped: no GPU')",
    ]
    assert skipped_on_real_data(reasons) == (
        "2 tests on real data skipped: "
        "set LAYOUTRAY_DATA and LAYOUTRAY_ORACLE as docs/datasets.md, Test data, describes"
    )
    assert skipped_on_real_data(reasons[:1]).startswith("1 test on real data skipped: set LAYOUTRAY_DATA as")
    assert skipped_on_real_data(reasons[2:]) == ""


@pytest.mark.slow
def test_a_run_without_the_data_ends_with_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYOUTRAY_ORACLE", str(tmp_path / "absent"))
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/oracle/test_word_graph.py"],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    )
    (line,) = re.findall(r"^.* on real data skipped: .*$", run.stdout, re.M)
    assert "LAYOUTRAY_ORACLE" in line


def test_the_place_that_the_line_names_exists() -> None:
    assert "## Test data\n" in (REPOSITORY / "docs/datasets.md").read_text()
