import json

import pytest

from benchmarks.commands.scaling import main
from layoutray.errors import InputError


@pytest.mark.ray
@pytest.mark.slow
def test_each_ingest_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--pages", "16", "--seconds", "0.1", "--nodes", "2", "--rounds", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: (run["pages"], run["workers"]) for name, (run,) in found["ingests"].items()} == {
        "1 node": (16, 1),
        "2 nodes": (16, 2),
        "disk": (4, 1),
        "disk, dead letters": (4, 1),
        "S3": (4, 1),
    }
    assert all(0.1 < run["first"] < run["seconds"] for (run,) in found["ingests"].values())
    assert all(run["ocr"] >= 0.1 for (run,) in found["ingests"].values())
    assert {"disk", "S3"} == found["steps"].keys()


@pytest.mark.parametrize(("option", "value", "least"), [("pages", 7, 8), ("nodes", 1, 2), ("rounds", 0, 1)])
def test_values_below_the_minimum_are_refused(option: str, value: int, least: int) -> None:
    with pytest.raises(InputError, match=f"--{option} is {value}; it must be at least {least}"):
        main([f"--{option}", str(value)])
