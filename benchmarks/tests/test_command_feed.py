import json
from pathlib import Path

import pytest

from benchmarks.commands.feed import main
from benchmarks.measure.generated_examples import generate
from layoutray.errors import InputError
from layoutray.training.inputs import open_split


@pytest.mark.slow
def test_disk_and_bucket_are_compared_with_a_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--windows", "300", "600", "--tokens", "12", "--batch", "4", "--steps", "10"]
    assert main([*sizes, "--recipes", "pretrain-tiny", "--scratch", str(tmp_path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [(feed["windows"], feed["store"]) for feed in report["feeds"]] == [
        *((300, "disk"), (300, "S3"), (600, "disk"), (600, "S3"))
    ]
    for feed in report["feeds"]:
        assert 0 < feed["first_step"] < 60
        assert min(feed["own"], feed["mapped"], *feed["speed"].values()) > 0
        assert feed["speed"]["per_core_second"] > report["trainings"]["pretrain-tiny"]["per_core_second"] > 0
    assert list(tmp_path.iterdir()) == [], "the examples are deleted"


def test_generated_windows_have_the_stated_lengths(tmp_path: Path) -> None:
    generate(tmp_path, 500, 12)
    examples = open_split(str(tmp_path), "train")
    assert (len(examples), set(examples.lengths.tolist())) == (500, set(range(6, 13)))
    for example in examples:
        assert example.word_index.tolist() == list(range(len(example.input_ids)))
        assert 0 <= example.neighbours.min() <= example.neighbours.max() < len(example.input_ids)


@pytest.mark.parametrize(("option", "least"), [("windows", 1), ("batch", 1), ("steps", 1), ("tokens", 4)])
def test_sizes_that_are_too_small_are_refused(option: str, least: int) -> None:
    with pytest.raises(InputError, match=f"--{option} is 0; it must be at least {least}"):
        main([f"--{option}", "0"])
