"""The endpoint compared with the same OCR and model in this process, in turns."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.measure.endpoint_load import Load

Measure = Callable[[], Load]


@dataclass(frozen=True, slots=True)
class Range:
    """Median, least and most over rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Range":
        return cls(statistics.median(values), min(values), max(values))

    def shown(self, decimals: int) -> str:
        return f"{self.median:.{decimals}f} ({self.least:.{decimals}f} to {self.most:.{decimals}f})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Loads of each round.

    Attributes:
        bare: in this process, without HTTP and Ray.
    """

    endpoint: Sequence[Load]
    bare: Sequence[Load]

    def added_latency(self) -> Range:
        """Milliseconds by which the endpoint's median latency is above the bare one's, round by round."""
        return Range.of([1000 * (ours.p50 - bare.p50) for ours, bare in self._rounds()])

    def relative_latency(self) -> Range:
        """The endpoint's median latency over the bare one's, round by round."""
        return Range.of([ours.p50 / bare.p50 for ours, bare in self._rounds()])

    def relative_throughput(self) -> Range:
        """The endpoint's documents per second over the bare ones, round by round."""
        return Range.of([ours.per_second / bare.per_second for ours, bare in self._rounds()])

    def stages(self) -> dict[str, float]:
        """Milliseconds of a document in the endpoint by stage, and of HTTP and the routes (`http_ms`): medians."""
        loads = self.endpoint
        stated = {stage: statistics.median(load.timings[stage] for load in loads) for stage in loads[0].timings}
        outside = [load.p50 * 1000 - load.timings["total_ms"] for load in loads]
        return {**stated, "http_ms": statistics.median(outside)}

    def _rounds(self) -> Sequence[tuple[Load, Load]]:
        return list(zip(self.endpoint, self.bare, strict=True))


def compare(pairs: Mapping[str, tuple[Measure, Measure]], rounds: int) -> dict[str, Comparison]:
    """Measure each pair (endpoint, bare) once a round, every other round in the reverse order."""
    loads: dict[str, tuple[list[Load], list[Load]]] = {name: ([], []) for name in pairs}
    for number in range(rounds):
        for name, pair in pairs.items():
            for side in (0, 1) if number % 2 else (1, 0):
                loads[name][side].append(pair[side]())
    return {name: Comparison(*found) for name, found in loads.items()}
