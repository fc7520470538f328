"""Resident memory of this process and its descendants during a run, by role of the processes."""

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
_WARM_UP = 2
"""Number of first tenths of a run that are warm-up."""


@dataclass(frozen=True, slots=True)
class RoleMemory:
    """Memory of all processes of one role.

    Attributes:
        tenths: MiB, mean of the samples in each tenth of a run.
        growth: last tenth minus third tenth, as a share of the third.
        range: maximum minus minimum of the tenths from the third on, as a share of the third.
    """

    role: str
    tenths: tuple[float, ...]
    growth: float
    range: float


@dataclass(frozen=True, slots=True)
class MemorySample:
    """Memory at one moment.

    Attributes:
        done: pages done at that moment.
        mib: by role.
    """

    done: int
    mib: Mapping[str, float]


class MemorySampler:
    """Takes samples of this process, whose role is `driver`, and of its descendants.

    Args:
        marks: by role, a text that the command lines of its processes contain. A process gets the first role that
            matches; "" matches every process.
        interval: minimum seconds between two samples.
    """

    def __init__(self, marks: Mapping[str, str], interval: float) -> None:
        self._marks = marks
        self._interval = interval
        self._last = -math.inf
        self.samples: list[MemorySample] = []

    def sample(self, done: int) -> None:
        """Take a sample if `interval` seconds have passed since the last one."""
        if time.monotonic() - self._last >= self._interval:
            self._last = time.monotonic()
            self.samples.append(MemorySample(done, {role: size / _MIB for role, size in resident(self._marks).items()}))


def resident(marks: Mapping[str, str]) -> dict[str, int]:
    """Resident bytes by role, as in `MemorySampler`. Memory that processes share is counted for each of them."""
    driver = psutil.Process()
    sizes = {"driver": driver.memory_info().rss, **dict.fromkeys(marks, 0)}
    for process in driver.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            line = " ".join(process.cmdline())
            role = next((role for role, mark in marks.items() if mark in line), None)
            if role:
                sizes[role] += process.memory_info().rss
    return sizes


def by_tenths(samples: Sequence[MemorySample]) -> list[RoleMemory]:
    """Memory of each role in each tenth of a run.

    Raises:
        InputError: for fewer samples than tenths.
    """
    if len(samples) < _TENTHS:
        raise InputError(
            f"the run ended after {len(samples)} samples, and at least {_TENTHS} are needed; "
            "read more pages or sample more often"
        )
    bounds = [len(samples) * tenth // _TENTHS for tenth in range(_TENTHS + 1)]
    parts = [samples[start:end] for start, end in itertools.pairwise(bounds)]
    return [
        _summary(role, tuple(statistics.fmean(sample.mib[role] for sample in part) for part in parts))
        for role in samples[0].mib
    ]


def _summary(role: str, tenths: tuple[float, ...]) -> RoleMemory:
    first, *_, last = warm = tenths[_WARM_UP:]
    return RoleMemory(role, tenths, last / first - 1, (max(warm) - min(warm)) / first)
