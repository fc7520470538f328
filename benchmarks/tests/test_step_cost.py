"""The report of the benchmarks of a training step: rows, figure, and rows of earlier runs."""

import json
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.__main__ import main


@pytest.mark.slow
def test_rows_and_figure_are_written_with_the_rows_of_earlier_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    earlier = [{"model": "BERT", "length": length, "seconds": length / 1000, "bytes": length**2} for length in (32, 64)]
    Path("earlier.json").write_text(json.dumps(earlier))
    options = ["--size", "tiny", "--lengths", "32", "--models", "ETC", "--steps", "1", "--rounds", "1"]
    files = ["--out", "rows.json", "--picture", "speed.png", "--add", "earlier.json"]
    assert main(["rich-speed", *options, *files]) == 0
    (row,) = json.loads(Path("rows.json").read_text())
    assert (row["model"], row["length"]) == ("ETC", 32)
    assert json.loads(capsys.readouterr().out) == [row]
    with Image.open("speed.png") as picture:
        assert picture.width == 1200


def test_a_file_of_other_rows_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]")
    assert main(["rich-speed", "--add", str(tmp_path / "other.json")]) == 1


@pytest.mark.parametrize("file", ["speed.pdf", "s3://bucket/speed.png"])
def test_figures_are_local_png_files(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["rich-speed", "--picture", file])
    assert f"'{file}' must be a path on this machine that ends in .png" in capsys.readouterr().err
