import pytest

from pipelines.__main__ import main, verbs


def test_every_verb_says_in_one_line_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    said = capsys.readouterr().err
    known = verbs()
    assert {"ingest", "encode", "pretrain", "finetune", "evaluate", "predict", "serve"} <= known.keys()
    for verb, says in known.items():
        assert says
        assert f"{verb} " in said
        assert says in said


def test_an_unknown_verb_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingets"]) == 2
    said = capsys.readouterr().err
    assert "'ingets'" in said
    assert "ingest" in said


def test_our_errors_are_one_line_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", "no-such-recipe", "in", "out"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: no recipe called 'no-such-recipe'; shipped: ")
    assert said.count("\n") == 1


def test_a_picture_is_not_written_beside_the_bucket_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["picture", "curves", "checkpoint", "--out", "s3://bucket/curves.png"])
    assert "s3://bucket/curves.png is an address" in capsys.readouterr().err
