"""Options that several benchmarks share."""

import argparse
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.__main__ import main
from benchmarks.options import StepCostOptions, add_step_cost_options
from layoutray.cli.shared.options import parse


@given(tokens=st.integers(1, 10_000), length=st.integers(1, 10_000))
def test_a_step_has_as_many_windows_as_fit_but_at_least_one_and_at_most_eight(tokens: int, length: int) -> None:
    parser = argparse.ArgumentParser()
    add_step_cost_options(parser, ["BERT"], size="tiny", lengths=[8])
    windows = parse(parser, ["--tokens", str(tokens)], StepCostOptions).windows(length)
    assert 1 <= windows <= 8
    assert windows == 1 or windows * length <= tokens
    assert windows == 8 or (windows + 1) * length > tokens


@pytest.mark.parametrize("pairs", [["funsd"], ["=runs"], ["funsd="], ["funsd=runs", "funsd=more"]])
@pytest.mark.parametrize("command", [["formnet-tables", "pages"], ["lambert-tables", "pages", "--start", "absent"]])
def test_a_malformed_or_repeated_data_set_is_refused(
    command: list[str], pairs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    labelled = [word for pair in pairs for word in ("--labelled", pair)]
    assert main([*command, *labelled, "--out", str(out)]) == 1
    assert f"--labelled is '{pairs[-1]}'; it must be NAME=FOLDER" in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


@pytest.mark.parametrize("command", [["skim-tables", "pages"], ["summary-tables", "documents"]])
def test_a_file_as_the_folder_of_results_is_refused(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("")
    assert main([*command, "--out", str(tmp_path / "out")]) == 1
    assert "error: [Errno 17] File exists" in capsys.readouterr().err
