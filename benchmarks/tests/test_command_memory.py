import json
from pathlib import Path

import pytest

from benchmarks.commands.memory import main
from layoutray.errors import InputError
from layoutray.synthetic.render import render_set


@pytest.mark.ray
@pytest.mark.ocr
@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
@pytest.mark.parametrize("profile", ["fast", "accurate"])
def test_the_memory_of_every_role_is_measured_during_an_ingest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], profile: str
) -> None:
    render_set(tmp_path / "drawn", 4, seed=1)
    picture = tmp_path / "memory.png"
    options = ["--profile", profile, "--pages", "4", "--rounds", "16", "--interval", "0.01", "--out", str(picture)]
    assert main([str(tmp_path / "drawn"), *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["pages"], report["dead"]) == (64, 0), "a picture that comes again is another page"
    held = {one["role"]: one["tenths"] for one in report["held"]}
    assert held.keys() == {"driver", "page workers", "OCR", "Ray itself"}
    # OCR starts in the first two tenths, which are the warm-up.
    assert all(mib > 10 for tenths in held.values() for mib in tenths[2:])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_zero_rounds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--rounds is 0"):
        main([str(tmp_path), "--rounds", "0"])
