"""Pace is counted from steps' ends, and sides take turns."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from layoutray.bench.training import PACE, Pace, Pair, Stopwatch, compare, pace, summary


def test_warm_up_and_start_up_do_not_count() -> None:
    ends = {1: 110.0, 2: 115.0, 3: 116.0, 4: 117.0, 5: 119.0}
    assert pace(ends, launched=100.0, warmup=2) == Pace(startup=10.0, steps_per_second=3 / 4)


def test_a_stopwatch_notes_steps_and_nothing_else(tmp_path: Path) -> None:
    watch = Stopwatch(tmp_path / PACE)
    watch.start(0, 2)
    watch.metrics(1, {"loss": 3.0, "learning_rate": 1.0})
    watch.metrics(1, {"dev.loss": 3.0})
    watch.saved(1, tmp_path)
    watch.metrics(2, {"loss": 2.0})
    noted = [json.loads(line) for line in (tmp_path / PACE).read_text().splitlines()]
    assert [step for step, _ in noted] == [1, 2]
    assert noted[0][1] <= noted[1][1]


def test_sides_take_turns_and_ratios_are_ours_over_the_peers(tmp_path: Path) -> None:
    order: list[str] = []

    def running(name: str, ends: Sequence[float]) -> object:
        def run(folder: Path) -> None:
            order.append(name)
            (folder / PACE).write_text("".join(json.dumps([step, end]) + "\n" for step, end in enumerate(ends, 1)))

        return run

    peer, ours = running("peer", [1.0, 2.0, 4.0]), running("ours", [1.0, 2.0, 3.0])
    pairs = list(compare(peer, ours, tmp_path, repeats=3, warmup=1))  # pyright: ignore[reportArgumentType]
    assert order == ["peer", "ours", "ours", "peer", "peer", "ours"]
    assert [pair.ratio for pair in pairs] == pytest.approx([1.5] * 3)


def test_the_summary_has_mean_and_extremes() -> None:
    pairs = [Pair(Pace(1, 10), Pace(2, 9)), Pair(Pace(3, 10), Pace(4, 11))]
    assert summary(pairs) == {
        "ratio": pytest.approx(1.0),
        "ratio_min": pytest.approx(0.9),
        "ratio_max": pytest.approx(1.1),
        "peer_steps_per_second": 10,
        "our_steps_per_second": 10,
        "peer_startup_seconds": 2,
        "our_startup_seconds": 3,
    }
