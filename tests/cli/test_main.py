"""The console command: help, unknown verbs, errors, and the entry points for `ray job submit`."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from layoutray.cli.main import main
from layoutray.cli.verbs import GROUPS, VERBS

REPOSITORY = Path(__file__).resolve().parents[2]
HEAVY = {"cv2", "mlflow", "numpy", "pandas", "pyarrow", "pydantic", "ray", "rich", "scipy", "torch", "transformers"}


def test_every_verb_says_in_one_line_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert {"ingest", "encode", "pretrain", "finetune", "evaluate", "predict", "serve"} <= VERBS.keys()
    for name, summary in ({name: verb.summary for name, verb in VERBS.items() if " " not in name} | GROUPS).items():
        assert f"{name} " in shown
        assert summary in shown


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_lists_its_verbs(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([group, "--help"]) == 0
    shown = capsys.readouterr().out
    members = {name.partition(" ")[2]: verb.summary for name, verb in VERBS.items() if name.startswith(f"{group} ")}
    assert members
    assert all(f"  {name} " in shown and summary in shown for name, summary in members.items())


def test_every_verb_has_a_function_and_an_entry_point() -> None:
    for verb in VERBS.values():
        module, _, function = verb.function.partition(":")
        assert callable(getattr(importlib.import_module(module, "layoutray.cli"), function))
    names = {name.partition(" ")[0].replace("-", "_") for name in VERBS}
    entry_points = {file.stem for file in (REPOSITORY / "pipelines").glob("[!_]*.py")}
    assert entry_points == names


def test_an_entry_point_runs_its_verb_even_if_its_name_is_a_keyword() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "pipelines.import", "--help"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown.startswith("usage: layoutray import ")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_that_takes_long(option: str) -> None:
    code = (
        f"import sys; from layoutray.cli.main import main; main([{option!r}]);"
        f"sys.stderr.write(' '.join({HEAVY} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [[], ["picture"]])
def test_a_missing_verb_is_an_error_with_the_list_on_stderr(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "usage: layoutray" in capsys.readouterr().err


def test_an_unknown_verb_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingets"]) == 2
    shown = capsys.readouterr().err
    assert "'ingets'" in shown
    assert "ingest" in shown


def test_our_errors_are_one_line_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", "no-such-recipe", "in", "out"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("error: no recipe called 'no-such-recipe'; shipped: ")
    assert shown.count("\n") == 1


def test_a_picture_is_not_written_beside_the_bucket_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["picture", "words", "pages", "--out", "s3://bucket/words.png"])
    assert "s3://bucket/words.png is an address" in capsys.readouterr().err
