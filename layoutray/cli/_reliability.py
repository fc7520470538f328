"""How far a checkpoint's confidences can be believed: of the words that it labels, and of the fields that it answers."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from layoutray import tasks
from layoutray.checkpoint import Checkpoint
from layoutray.cli._field_scores import Pair, judged
from layoutray.document.field_type import FieldType
from layoutray.metrics.calibration import Bin, accepted_share, bins, calibration_error
from layoutray.report import png
from layoutray.report.reliability import reliability
from layoutray.tasks import Certainties


def word_calibration(loaded: Checkpoint, seen: Sequence[Any]) -> dict[str, float]:
    """`ece`, the calibration error of words, and `ece_uncalibrated`, at temperature 1; nothing of a checkpoint that labels no words."""
    if not loaded.labels:
        return {}
    return {
        "ece": calibration_error(_word_bins(loaded, seen, loaded.temperature)),
        "ece_uncalibrated": calibration_error(_word_bins(loaded, seen, 1.0)),
    }


def field_calibration(pairs: Sequence[Pair], schema: Mapping[str, FieldType]) -> dict[str, float]:
    """`field_ece`, the calibration error of answered fields, and `accepted_at_99`, also of each field (`accepted_at_99.total`).

    That is the largest share of the answers, taken by falling confidence, whose precision is at least 0.99.
    """
    asked = {"": [*schema], **{f".{name}": [name] for name in schema}}
    return {"field_ece": calibration_error(bins(*_field_certainties(pairs, schema, schema)))} | {
        f"accepted_at_99{suffix}": accepted_share(*_field_certainties(pairs, schema, names), 0.99)
        for suffix, names in asked.items()
    }


def reliability_picture(loaded: Checkpoint, seen: Sequence[Any], pairs: Sequence[Pair]) -> bytes:
    """PNG of the share of right answers over confidence: of words, and of fields where the checkpoint looks for any."""
    curves = {
        "words, temperature 1": _word_bins(loaded, seen, 1.0),
        f"words, temperature {loaded.temperature:.2f}": _word_bins(loaded, seen, loaded.temperature),
    }
    if schema := loaded.recipe.task.fields:
        curves["fields"] = bins(*_field_certainties(pairs, schema, schema))
    return png.png(reliability(curves))


def _word_bins(loaded: Checkpoint, seen: Sequence[Any], temperature: float) -> list[Bin]:
    return bins(*tasks.load(loaded.recipe.task.name).certainties(seen, loaded.labels, temperature))


def _field_certainties(pairs: Sequence[Pair], schema: Mapping[str, FieldType], names: Collection[str]) -> Certainties:
    """How sure each answer to one of the fields `names` is, and whether its value is one of those that were expected."""
    answers, right = judged(pairs, schema, names)
    return np.array([answer.confidence for answer in answers], np.float64), np.array(right, np.bool_)
