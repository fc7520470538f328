"""Speed is computed from the ends of steps, and the order of the two trainings alternates."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.measure.launchers import STEP_TIMES, SpeedPair, StepTimer, TrainingSpeed, compare, speed, summary


def test_warm_up_and_start_up_are_not_measured() -> None:
    ends = {1: 110.0, 2: 115.0, 3: 116.0, 4: 117.0, 5: 119.0}
    assert speed(ends, launched=100.0, warmup=2) == TrainingSpeed(startup=10.0, steps_per_second=3 / 4)


def test_a_step_timer_records_only_steps(tmp_path: Path) -> None:
    timer = StepTimer(tmp_path / STEP_TIMES)
    timer.start(0, 2)
    timer.metrics(1, {"loss": 3.0, "learning_rate": 1.0})
    timer.metrics(1, {"dev.loss": 3.0})
    timer.saved(1, tmp_path)
    timer.metrics(2, {"loss": 2.0})
    recorded = [json.loads(line) for line in (tmp_path / STEP_TIMES).read_text().splitlines()]
    assert [step for step, _ in recorded] == [1, 2]
    assert recorded[0][1] <= recorded[1][1]


def test_the_order_alternates_and_ratios_are_ours_over_the_peers(tmp_path: Path) -> None:
    order: list[str] = []

    def running(name: str, ends: Sequence[float]) -> object:
        def run(folder: Path) -> None:
            order.append(name)
            (folder / STEP_TIMES).write_text(
                "".join(json.dumps([step, end]) + "\n" for step, end in enumerate(ends, 1))
            )

        return run

    peer, ours = running("peer", [1.0, 2.0, 4.0]), running("ours", [1.0, 2.0, 3.0])
    pairs = list(compare(peer, ours, tmp_path, repeats=3, warmup=1))  # pyright: ignore[reportArgumentType]
    assert order == ["peer", "ours", "ours", "peer", "peer", "ours"]
    assert [pair.ratio for pair in pairs] == pytest.approx([1.5] * 3)


def test_the_summary_has_mean_minimum_and_maximum() -> None:
    pairs = [
        SpeedPair(TrainingSpeed(1, 10), TrainingSpeed(2, 9)),
        SpeedPair(TrainingSpeed(3, 10), TrainingSpeed(4, 11)),
    ]
    assert summary(pairs) == {
        "ratio": pytest.approx(1.0),
        "ratio_min": pytest.approx(0.9),
        "ratio_max": pytest.approx(1.1),
        "peer_steps_per_second": 10,
        "our_steps_per_second": 10,
        "peer_startup_seconds": 2,
        "our_startup_seconds": 3,
    }
