"""The list of benchmarks, and how one is run."""

import pytest

from benchmarks.__main__ import benchmarks, main


def test_every_benchmark_is_listed_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    listed = capsys.readouterr().err
    known = benchmarks()
    assert {"skim-tables", "lambert-tables", "word-graph", "growth"} <= known.keys()
    for name, line in known.items():
        assert len(line) > 20
        assert f"  {name} " in listed
        assert line in listed


@pytest.mark.parametrize("name", benchmarks())
def test_every_benchmark_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        main([name, "--help"])
    assert f"python -m benchmarks {name} " in capsys.readouterr().out


def test_an_unknown_benchmark_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed"]) == 2
    message = capsys.readouterr().err
    assert "unknown benchmark 'speed'" in message
    assert "skim-speed" in message


def test_errors_are_one_line_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["growth", "--pages", "0"]) == 1
    assert capsys.readouterr().err == "error: --pages is 0; it must be at least 1\n"
