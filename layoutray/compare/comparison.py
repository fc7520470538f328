"""Several recipes, each trained with the same seeds and measured on the same documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from layoutray.compare.compared_model import NOISE, ComparedModel
from layoutray.errors import InputError
from layoutray.evaluation.measurement import counts_of, estimate
from layoutray.metrics.bootstrap import Estimate, Interval

_LISTED = 5
"""Documents that are listed of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRecipe:
    """One row of the report's table.

    Attributes:
        seeds: the F1 of each seed.
        unseen: F1 on documents whose template does not occur in training; None if there are none.
        noisy: F1 by share of wrong characters.
        difference: F1 of the best recipe minus this one's; None for the best.
        coverage: share of answers that can be accepted at a precision of 0.99; None without fields.
        milliseconds: to answer a page.
    """

    name: str
    f1: Interval
    seeds: tuple[float, ...]
    unseen: Interval | None
    noisy: Mapping[float, Interval]
    difference: Interval | None
    calibration_error: float
    coverage: float | None
    milliseconds: float
    parameters: int


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    """How many values of a document two recipes find, as the mean of their seeds."""

    doc_id: str
    expected: int
    by_best: float
    by_other: float


@dataclass(frozen=True)
class Comparison:
    """What was measured of several recipes.

    Attributes:
        models: those of each recipe, one for each seed, by the recipe's name.
        known: ids of documents whose template also occurs in training.
    """

    models: Mapping[str, Sequence[ComparedModel]]
    known: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raises InputError if the recipes were not measured by the same values."""
        truths = {name: (models[0].clean.metric, _expected(models[0])) for name, models in self.models.items()}
        (first, truth), *others = truths.items()
        for name, other in others:
            if other != truth:
                raise InputError(
                    f"{first} and {name} are not measured by the same values; give recipes that find the same "
                    "entities, or that have the same [task.fields]"
                )

    @property
    def documents(self) -> int:
        return len(_expected(next(iter(self.models.values()))[0]))

    @property
    def metric(self) -> str:
        return next(iter(self.models.values()))[0].clean.metric

    @cached_property
    def f1(self) -> dict[str, Estimate]:
        """By name of the recipe, best first."""
        found = {name: estimate([one.clean for one in models]) for name, models in self.models.items()}
        return dict(sorted(found.items(), key=lambda item: -item[1].value))

    @property
    def best(self) -> str:
        return next(iter(self.f1))

    @cached_property
    def differences(self) -> dict[str, Interval]:
        """F1 of the best recipe minus that of each other one, on the same draws of documents and seeds."""
        return {name: self.f1[self.best].minus(one).interval for name, one in self.f1.items() if name != self.best}

    @property
    def undecided(self) -> list[str]:
        """The recipes that may be as good as the best one: the interval of the difference contains 0."""
        return [name for name, difference in self.differences.items() if difference.low <= 0]

    @cached_property
    def unseen(self) -> tuple[str, ...]:
        """Ids of the measured documents whose template does not occur in training."""
        return tuple(doc_id for doc_id in _expected(next(iter(self.models.values()))[0]) if doc_id not in self.known)

    @property
    def verdict(self) -> str:
        if not self.f1[self.best].value:
            return f"No recipe finds a value: each {self.metric} is 0. Train longer, or label more documents."
        if not self.undecided:
            return f"{self.best} is the best: its {self.metric} is higher than that of each other recipe beyond chance."
        return (
            f"The data cannot tell which is the best: {self.best} has the highest {self.metric}, but its difference to "
            f"{', '.join(self.undecided)} can be chance."
        )

    def recipes(self) -> list[ComparedRecipe]:
        """A row of the report for each recipe, best first."""
        return [self._recipe(name) for name in self.f1]

    def differing(self, other: str, sign: int) -> list[DocumentDifference]:
        """Documents of which the best recipe finds more values than `other` (with `sign` -1: fewer), most first."""
        best, theirs = self._correct(self.best), self._correct(other)
        expected = _expected(self.models[other][0])
        every = [
            DocumentDifference(doc_id, count, float(by_best), float(by_other))
            for (doc_id, count), by_best, by_other in zip(expected.items(), best, theirs, strict=True)
            if sign * (by_best - by_other) > 0
        ]
        return sorted(every, key=lambda one: sign * (one.by_other - one.by_best))[:_LISTED]

    def _recipe(self, name: str) -> ComparedRecipe:
        models = self.models[name]
        coverages = [one.coverage for one in models if one.coverage is not None]
        unseen = [
            replace(one.clean, counts={doc_id: one.clean.counts[doc_id] for doc_id in self.unseen}) for one in models
        ]
        has_values = any(expected for _, expected, _ in unseen[0].counts.values())
        return ComparedRecipe(
            name=name,
            f1=self.f1[name].interval,
            seeds=tuple(one.clean.value for one in models),
            unseen=estimate(unseen).interval if has_values else None,
            noisy={rate: estimate([one.noisy[rate] for one in models]).interval for rate in NOISE},
            difference=self.differences.get(name),
            calibration_error=float(np.mean([one.calibration_error for one in models])),
            coverage=float(np.mean(coverages)) if coverages else None,
            milliseconds=float(np.mean([one.milliseconds for one in models])),
            parameters=models[0].parameters,
        )

    def _correct(self, name: str) -> NDArray[np.float64]:
        """Correct values of each document, as the mean of the seeds."""
        return counts_of([one.clean for one in self.models[name]])[..., 0].mean(axis=0)


def _expected(model: ComparedModel) -> dict[str, int]:
    """Number of expected values by document."""
    return {doc_id: expected for doc_id, (_, expected, _) in model.clean.counts.items()}
