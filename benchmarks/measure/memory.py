"""Resident memory of a program and of all that it has started, by what each process is for, while it works."""

import contextlib
import itertools
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

from layoutray.errors import InputError

_MIB = 2**20
_TENTHS = 10
_WARM = 2
"""Tenths of a run that may warm up."""


@dataclass(frozen=True, slots=True)
class Held:
    """What the processes of one role held together.

    Attributes:
        tenths: MiB, mean of the samples in each tenth of a run.
        growth: from the third tenth to the last, as a share of the third.
        range: between the least and the most of the tenths from the third on, as a share of the third.
    """

    role: str
    tenths: tuple[float, ...]
    growth: float
    range: float


@dataclass(frozen=True, slots=True)
class Sample:
    """Attributes:
    done: how much was done when it was taken.
    mib: by role.
    """

    done: int
    mib: Mapping[str, float]


class MemorySampler:
    """Samples of this process, role `driver`, and of its descendants.

    Args:
        marks: of a role the text that is in the command lines of its processes; the first one that fits counts, and "" fits all.
        interval: seconds between two samples, at least.
    """

    def __init__(self, marks: Mapping[str, str], interval: float) -> None:
        self._marks = marks
        self._interval = interval
        self._last = -math.inf
        self.samples: list[Sample] = []

    def sample(self, done: int) -> None:
        """Take a sample, unless it is too early for the next one."""
        if time.monotonic() - self._last >= self._interval:
            self._last = time.monotonic()
            self.samples.append(Sample(done, {role: held / _MIB for role, held in resident(self._marks).items()}))


def resident(marks: Mapping[str, str]) -> dict[str, int]:
    """Bytes that are held now, by role as in `MemorySampler`. Memory that processes share counts in each."""
    driver = psutil.Process()
    held = {"driver": driver.memory_info().rss, **dict.fromkeys(marks, 0)}
    for process in driver.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            line = " ".join(process.cmdline())
            role = next((role for role, mark in marks.items() if mark in line), None)
            if role:
                held[role] += process.memory_info().rss
    return held


def by_tenths(samples: Sequence[Sample]) -> list[Held]:
    """What each role held from tenth to tenth of a run.

    Raises:
        InputError: for fewer samples than tenths.
    """
    if len(samples) < _TENTHS:
        raise InputError(
            f"the run was over after {len(samples)} samples, and {_TENTHS} are needed; read more pages, or sample more often"
        )
    bounds = [len(samples) * tenth // _TENTHS for tenth in range(_TENTHS + 1)]
    parts = [samples[start:end] for start, end in itertools.pairwise(bounds)]
    return [
        _held(role, tuple(statistics.fmean(one.mib[role] for one in part) for part in parts)) for role in samples[0].mib
    ]


def _held(role: str, tenths: tuple[float, ...]) -> Held:
    first, *_, last = warm = tenths[_WARM:]
    return Held(role, tenths, last / first - 1, (max(warm) - min(warm)) / first)
