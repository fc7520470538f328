"""Which answers of a checkpoint need no look: chooses the thresholds of fields, and measures what they accept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from layoutray import config
from layoutray.checkpoint import Checkpoint
from layoutray.document.field_type import FieldType
from layoutray.evaluation.fields import FieldScores, JudgedAnswer, Schema, certainties
from layoutray.metrics.acceptance import Goal, Proportion, acceptance_threshold, proportion
from layoutray.recipe import recipes
from layoutray.tasks import document_fields_of


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


def with_thresholds(loaded: Checkpoint, schema: Schema, label: str = "") -> Checkpoint:
    """The checkpoint with other thresholds of its fields; its version differs when it is saved.

    Args:
        label: of its present version in a registry; empty if there is none.
    """
    values = loaded.recipe.to_dict()
    values["task"]["fields"] |= {name: config.to_dict(field) for name, field in schema.items()}
    own = document_fields_of(loaded.recipe.task)
    same_confidences = all(own[name].second_look == field.second_look for name, field in schema.items())
    former = {"thresholds": loaded.thresholds(label) if same_confidences else {}}
    return replace(loaded, recipe=recipes.from_stored(values), provenance=loaded.provenance | former)
