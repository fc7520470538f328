from pathlib import Path

import pytest

from benchmarks.measure.ingest_peers import (
    SpeedRatio,
    TimedRound,
    seconds_of_pool,
    seconds_of_xargs,
    speed_ratios,
    time_contenders,
    write_preprocessed,
)
from layoutray.ocr.settings import Recognition
from layoutray.ocr.tesseract.settings import Preprocessing, TesseractSettings
from tests.ocr.files import encoded, picture

SETTINGS = Recognition(engine="tesserocr", settings=TesseractSettings(preprocessing=Preprocessing(width=400)))


def test_every_contender_runs_in_every_round_and_the_order_alternates() -> None:
    order: list[str] = []
    reported: list[str] = []

    def contender(name: str, seconds: float) -> float:
        order.append(name)
        return seconds

    contenders = {"a": lambda: contender("a", 1.0), "b": lambda: contender("b", 2.0)}
    results = time_contenders(contenders, 2, reported.append)
    assert order == ["a", "b", "b", "a"]
    assert [one.seconds for one in results] == [{"a": 1.0, "b": 2.0}] * 2
    assert len(reported) == 4


def test_a_ratio_above_one_means_that_ours_is_faster() -> None:
    results = [TimedRound({"ours": 10.0, "peer": seconds}) for seconds in (20.0, 5.0, 12.0)]
    assert speed_ratios(results, "ours") == [SpeedRatio("peer", median=1.2, least=0.5, most=2.0)]


@pytest.mark.ocr
def test_the_baselines_read_every_page(tmp_path: Path) -> None:
    files: list[tuple[Path, int]] = []
    for number in range(3):
        file = tmp_path / f"{number}.png"
        file.write_bytes(encoded(picture(f"Invoice 7{number}"), "PNG"))
        files.append((file, 1))
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    write_preprocessed(files, SETTINGS, prepared, 2)
    assert len(list(prepared.glob("*.pgm"))) == 3
    assert seconds_of_xargs(prepared, SETTINGS, 2) > 0
    words = [file.read_text().split()[-1] for file in sorted(prepared.glob("*.tsv"))]
    assert words == ["70", "71", "72"]
    assert seconds_of_pool(files, SETTINGS, 2) > 0
