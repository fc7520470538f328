"""The speed of a training is measured in a process of its own, for each variant in turns."""

import json
from pathlib import Path

import pytest

from benchmarks.commands import training_speed
from tests.jobs import job, recipe, recipe_file


@pytest.mark.slow
def test_every_variant_has_its_speed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = recipe("masked_lm")
    examples = job(tmp_path, chosen).examples
    repository = str(Path(__file__).resolve().parents[2])
    arguments = [recipe_file(tmp_path, chosen), examples, "--before", repository, "--only", "padded", "packed"]
    assert training_speed.main([*arguments, "--steps", "2", "--rounds", "1"]) == 0
    speeds = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(speeds) == ["before", "padded", "packed"]
    assert all(len(found) == 1 and min(found[0].values()) > 0 for found in speeds.values())
