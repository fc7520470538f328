"""Checkpoints of an enemy: refused before they take memory, and before a file without an end is read."""

import json
import os
import resource
import time
from pathlib import Path

import pytest

from layoutray import checkpoint
from layoutray.errors import CheckpointError
from tests.test_checkpoint import rewrite, saved


@pytest.mark.parametrize("changes", [{"layers": 600}, {"layers": 10**7}, {"feed_forward": 10**10}, {"max_2d": 10**10}])
def test_a_recipe_of_a_larger_model_than_its_weights_takes_no_memory(changes: dict[str, int], tmp_path: Path) -> None:
    stored = json.loads((saved(tmp_path) / "recipe.json").read_text())
    rewrite(tmp_path, "recipe.json", stored | {"model": stored["model"] | changes})
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    with pytest.raises(CheckpointError, match=r"more than \d+ parameters|does not fit the model of its recipe"):
        checkpoint.load(tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "KiB"
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("name", checkpoint.FILES)
def test_pipes_devices_and_huge_files_in_a_checkpoint_are_refused(name: str, tmp_path: Path) -> None:
    for kind in ("pipe", "device", "huge"):
        folder = saved(tmp_path / kind)
        (folder / name).unlink()
        if kind == "pipe":
            os.mkfifo(folder / name)
        elif kind == "device":
            (folder / name).symlink_to("/dev/zero")
        else:
            with (folder / name).open("wb") as file:
                file.truncate(2**40)
        if name == "calibration.json" and kind != "huge":
            continue  # it may be missing
        with pytest.raises(CheckpointError):
            checkpoint.load(folder)
