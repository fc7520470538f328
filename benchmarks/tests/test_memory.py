import subprocess
import sys

import pytest

from benchmarks.measure.memory import MemorySample, MemorySampler, by_tenths, resident
from layoutray.errors import InputError

MIB = 2**20
_HOLDER = "import sys; held = bytearray(int(sys.argv[1])); print('ready', flush=True); sys.stdin.read()"


def test_a_process_gets_the_first_role_that_matches() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(64 * MIB), "a-holder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        held = resident({"holders": "a-holder", "others": ""})
        unmarked = resident({"others": "b-holder"})
        holder.communicate("")
    assert list(held) == ["driver", "holders", "others"]
    assert 64 * MIB < held["holders"] < 128 * MIB
    assert unmarked["others"] == 0
    assert resident({"holders": "a-holder"})["holders"] == 0


def test_samples_are_at_least_the_interval_apart() -> None:
    eager, patient = MemorySampler({}, 0.0), MemorySampler({}, 3600.0)
    for done in (1, 2, 3):
        eager.sample(done)
        patient.sample(done)
    assert [one.done for one in eager.samples] == [1, 2, 3]
    assert [one.done for one in patient.samples] == [1]
    assert all(one.mib["driver"] > 1 for one in eager.samples)


def test_growth_counts_from_the_third_tenth() -> None:
    # Two samples per tenth. The flat role grows only during warm-up; the other grows on, then shrinks a little.
    flat = [10.0] * 4 + [100.0] * 16
    grown = [100.0] * 6 + [120.0, 130.0] + [150.0] * 10 + [120.0] * 2
    samples = [
        MemorySample(done, {"flat": one, "grown": other})
        for done, (one, other) in enumerate(zip(flat, grown, strict=True))
    ]
    first, second = by_tenths(samples)
    assert (first.role, first.tenths[:3], first.growth, first.range) == ("flat", (10.0, 10.0, 100.0), 0.0, 0.0)
    assert second.tenths[3] == 125.0
    assert second.growth == pytest.approx(0.2)
    assert second.range == pytest.approx(0.5)


def test_every_sample_is_used_when_ten_does_not_divide_their_number() -> None:
    samples = [MemorySample(done, {"driver": float(done)}) for done in range(23)]
    (held,) = by_tenths(samples)
    assert held.tenths[0] == 0.5
    assert held.tenths[-1] == 21.0


def test_a_run_with_too_few_samples_is_refused() -> None:
    with pytest.raises(InputError, match="ended after 9 samples, and at least 10 are needed; read more pages"):
        by_tenths([MemorySample(done, {"driver": 1.0}) for done in range(9)])
