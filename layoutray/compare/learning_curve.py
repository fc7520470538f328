"""A metric by the number of training documents, and what more documents would bring."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from layoutray.evaluation.measurement import Measurement, estimate
from layoutray.metrics.bootstrap import Estimate
from layoutray.metrics.learning_curve import extrapolated


@dataclass(frozen=True)
class LearningCurve:
    """The metric of models that were trained on several numbers of documents.

    Attributes:
        best: whether higher or lower values of the metric are better.
        values: of each seed, by number of training documents, ascending.
        points: the mean over the seeds, by the same numbers.
    """

    metric: str
    best: Literal["min", "max"]
    values: Mapping[int, Sequence[float]]
    points: Mapping[int, Estimate]

    @classmethod
    def of(cls, measured: Mapping[int, Sequence[Measurement]]) -> "LearningCurve":
        """The curve of measurements on the same documents.

        Args:
            measured: of each seed, by two or more numbers of training documents, ascending.
        """
        (first, *_), *_ = measured.values()
        return cls(
            first.metric,
            first.best,
            {size: [one.value for one in of_seeds] for size, of_seeds in measured.items()},
            {size: estimate(of_seeds) for size, of_seeds in measured.items()},
        )

    @property
    def last(self) -> int:
        return max(self.points)

    def predicted(self, size: int) -> Estimate:
        """The metric with `size` training documents, see `layoutray.metrics.learning_curve`."""
        return extrapolated(self.points, size, self.best)

    def gain(self, more: int) -> Estimate:
        """What `more` documents than the last size would add to the metric."""
        return self.predicted(self.last + more).minus(self.points[self.last])

    def report(self, more: int) -> dict[str, Any]:
        """The curve, the gain of `more` documents, and the check of such a prediction, as plain values."""
        before = {size: point for size, point in self.points.items() if size != self.last}
        # Of one size, no prediction can be made.
        predicted = replace(self, points=before).predicted(self.last) if len(before) > 1 else None
        check = predicted and {
            "documents": self.last,
            "predicted": _plain(predicted),
            "measured": _plain(self.points[self.last]),
            "difference": _plain(self.points[self.last].minus(predicted)),
        }
        points = [
            {"documents": size, **_plain(point), "seeds": [*self.values[size]]} for size, point in self.points.items()
        ]
        return {
            "metric": self.metric,
            "points": points,
            "gain": {"more_documents": more, **_plain(self.gain(more))},
            "check": check,
        }


def _plain(one: Estimate) -> dict[str, float]:
    return asdict(one.interval)
