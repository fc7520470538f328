"""The table of pairs of letters in the package is the one that the benchmark makes."""

import json

import numpy as np
import pytest

from benchmarks.commands.letter_pairs import main
from benchmarks.measure import letter_pairs
from layoutray.errors import InputError
from layoutray.ocr import plausible


@pytest.mark.slow
def test_the_package_has_the_table_that_is_made_and_no_language_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--samples", "5"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["differing"] == 0
    assert [list(map(int, row)) for row in report["table"]] == plausible.PAIRS.tolist()
    own, shifted, exchanged = report["samples"]
    assert (own["kind"], own["judged"] > 120, own["refused"]) == ("as they are", True, 0)
    assert min(shifted["refused"], exchanged["refused"]) > 0.9 * own["judged"]


def test_another_table_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(letter_pairs, "table", lambda: np.zeros((26, 26), np.int64))
    assert main(["--samples", "1"]) == 1
    assert "numbers of the package's table differ" in capsys.readouterr().err


def test_no_samples_are_refused() -> None:
    with pytest.raises(InputError, match="--samples is 0; it must be at least 1"):
        main(["--samples", "0"])
