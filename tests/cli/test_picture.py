"""`picture`: its names, and what `picture reliability` refuses; `picture words` has tests of its own."""

from pathlib import Path

import pytest

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.cli.main import main
from tests.jobs import recipe, vocabulary


def test_a_model_that_labels_no_words_is_sure_of_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = recipe("masked_lm")
    model = checkpoint.build_model(chosen, vocabulary(), ())
    checkpoint.save(
        tmp_path / "model",
        Checkpoint(recipe=chosen, labels=(), tokenizer=vocabulary(), model=model, metrics={}, provenance={}),
    )
    assert main(["picture", "reliability", str(tmp_path / "model"), str(tmp_path)]) == 1
    assert "labels no words" in capsys.readouterr().err


def test_only_png_files_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["picture", "reliability", "model", "pages", "--out", "reliability.pdf"])
    assert "reliability.pdf does not end in .png" in capsys.readouterr().err


def test_an_unknown_name_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["picture", "curve"]) == 2
    assert "unknown verb 'picture curve'; known: answers, reliability, words" in capsys.readouterr().err
