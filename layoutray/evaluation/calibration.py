"""How far the confidences of a checkpoint can be trusted: those of its word labels and of its answered fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from layoutray.evaluation.capabilities import word_tagger
from layoutray.evaluation.fields import JudgedAnswer, Schema, certainties
from layoutray.evaluation.predictions import Predictions
from layoutray.metrics.calibration import Bin, accepted_share, bins, calibration_error

PRECISION = 0.99
"""Of the answers that `accepted_at_99` accepts."""


@dataclass(frozen=True, slots=True)
class WordCalibration:
    """Accuracy of word labels by confidence, at the checkpoint's temperature and at temperature 1."""

    temperature: float
    bins: Sequence[Bin]
    uncalibrated_bins: Sequence[Bin]

    def metrics(self) -> dict[str, float]:
        """By the names of reports: the expected calibration errors `ece` and `ece_uncalibrated`."""
        return {
            "ece": calibration_error(self.bins),
            "ece_uncalibrated": calibration_error(self.uncalibrated_bins),
        }


@dataclass(frozen=True, slots=True)
class FieldCalibration:
    """Accuracy of answered fields by confidence.

    Attributes:
        accepted: the largest share of all answers, taken by falling confidence, whose precision is at least 0.99.
        accepted_by_field: the same for each field.
    """

    bins: Sequence[Bin]
    accepted: float
    accepted_by_field: Mapping[str, float]

    def metrics(self) -> dict[str, float]:
        """By the names of reports: `field_ece`, `accepted_at_99`, and `accepted_at_99.total` of one field."""
        by_field = {f"accepted_at_99.{name}": share for name, share in self.accepted_by_field.items()}
        return {"field_ece": calibration_error(self.bins), "accepted_at_99": self.accepted} | by_field


def calibrate_words(predictions: Predictions) -> WordCalibration:
    """The calibration of word labels by the observations of a pass."""
    loaded = predictions.loaded
    calibrated, uncalibrated = (
        bins(*word_tagger(loaded).confidences(predictions.observations, loaded.labels, temperature))
        for temperature in (loaded.temperature, 1.0)
    )
    return WordCalibration(loaded.temperature, calibrated, uncalibrated)


def calibrate_fields(judged: Sequence[JudgedAnswer], schema: Schema) -> FieldCalibration:
    """The calibration of the answers to the fields of `schema`."""
    every = certainties(judged)
    return FieldCalibration(
        bins(*every),
        accepted_share(*every, PRECISION),
        {name: accepted_share(*certainties(judged, name), PRECISION) for name in schema},
    )
