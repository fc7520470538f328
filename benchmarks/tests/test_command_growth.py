import json

import pytest

from benchmarks.commands.growth import main
from layoutray.errors import InputError


@pytest.mark.slow
def test_each_step_has_a_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--pages", "300", "--words", "20", "--reports", "30"]) == 0
    costs = {cost["step"]: cost for cost in json.loads(capsys.readouterr().out)}
    assert {
        "files listed in a bucket",
        "unchanged files recalled",
        "plan",
        "shards written",
        "ledger read (what is done)",
        "manifest counted",
    } <= costs.keys()
    peaks = [cost["peak_gib"] for cost in costs.values() if cost["unit"] == "pages"]
    assert peaks == sorted(peaks)
    assert all(cost["seconds"] > 0 for cost in costs.values())
    # 20 words of 16 bytes of coordinates are what cannot be compressed away.
    assert costs["shards written"]["disk_gib"] > 20 * 16 * 1e6 / 2**30
    assert costs["MLflow"]["unit"] == "reports"


def test_zero_pages_are_refused() -> None:
    with pytest.raises(InputError, match="--pages is 0"):
        main(["--pages", "0"])
