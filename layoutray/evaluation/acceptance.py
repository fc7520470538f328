"""Which answers of a checkpoint need no look: chooses the thresholds of fields, and measures what they accept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from layoutray import config
from layoutray.checkpoint import Checkpoint
from layoutray.document.field_type import FieldType
from layoutray.errors import InputError
from layoutray.evaluation.fields import FieldScores, JudgedAnswer, Schema, certainties
from layoutray.metrics.acceptance import Proportion, acceptance_threshold, proportion
from layoutray.recipe import recipes


@dataclass(frozen=True, slots=True)
class Goal:
    """The precision that accepted answers must have.

    Attributes:
        precision: above 0 and below 1.
        risk: probability that the precision is lower nevertheless, above 0 and below 1.
    """

    precision: float
    risk: float

    def __post_init__(self) -> None:
        for name, value in (("precision", self.precision), ("risk", self.risk)):
            if not 0 < value < 1:
                raise InputError(f"{name} is {value}; it must be above 0 and below 1")


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What the thresholds of fields accept.

    Attributes:
        coverage: the accepted share of answers, by field, and of all fields under the empty name.
        precision: the share of right answers among the accepted ones, by the same names.
    """

    coverage: Mapping[str, Proportion]
    precision: Mapping[str, Proportion]

    def metrics(self) -> dict[str, float]:
        """By the names of reports: `accepted` and `accepted_precision` with bounds, `accepted.total` of one field, …

        A precision has no value if nothing is accepted.
        """
        flat: dict[str, float] = {}
        for metric, intervals in (("accepted", self.coverage), ("accepted_precision", self.precision)):
            for name, found in intervals.items():
                suffix = f".{name}" if name else ""
                if found.count:
                    flat |= {
                        f"{metric}{suffix}": found.share,
                        f"{metric}_low{suffix}": found.low,
                        f"{metric}_high{suffix}": found.high,
                    }
        return flat


def measure_acceptance(judged: Sequence[JudgedAnswer], schema: Schema) -> Acceptance:
    """What the thresholds in `schema` accept of the judged answers."""
    groups = {name: [one for one in judged if one.answer.name == name] for name in schema} | {"": judged}
    accepted = {
        name: [one for one in group if schema[one.answer.name].accepts(one.answer.confidence)]
        for name, group in groups.items()
    }
    return Acceptance(
        {name: proportion(len(accepted[name]), len(group)) for name, group in groups.items()},
        {name: proportion(sum(one.correct for one in group), len(group)) for name, group in accepted.items()},
    )


def choose_thresholds(
    schema: Schema, judged: Sequence[JudgedAnswer], scores: FieldScores, goal: Goal
) -> dict[str, FieldType]:
    """The fields of `schema` with thresholds that fit the judged answers.

    `accept_from` is the lowest confidence from which `goal` is shown (see `layoutray.metrics.acceptance`), or None.
    `min_score` of a field of many values is the one with the highest F1.
    """
    return {
        name: replace(
            field,
            accept_from=acceptance_threshold(*certainties(judged, name), goal.precision, goal.risk),
            min_score=max(field.min_score, scores.best_min_scores.get(name, 0.0)),
        )
        for name, field in schema.items()
    }


def with_thresholds(loaded: Checkpoint, schema: Schema) -> Checkpoint:
    """The checkpoint with other settings of its fields; its version differs when it is saved."""
    values = loaded.recipe.to_dict()
    values["task"]["fields"] |= {name: config.to_dict(field) for name, field in schema.items()}
    return replace(loaded, recipe=recipes.from_stored(values))
