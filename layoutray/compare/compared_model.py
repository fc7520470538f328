"""Everything that a comparison says about one trained model."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from layoutray.checkpoint import Checkpoint
from layoutray.evaluation.evaluate import evaluate
from layoutray.evaluation.measurement import Measurement, kept, measure, noise_metric
from layoutray.evaluation.page_selection import PageSelection

NOISE = (0.05, 0.1)
"""Shares of wrong characters under which models are measured too."""


@dataclass(frozen=True, kw_only=True)
class ComparedModel:
    """What was measured of one checkpoint.

    Attributes:
        noisy: under each share of wrong characters in NOISE.
        calibration_error: expected calibration error of the answered fields, or of words if it answers no fields.
        coverage: `accepted_at_99`, the share of answered fields that can be accepted with a precision of 0.99; None if
            the model answers no fields.
        milliseconds: to answer a page, from its words on.
    """

    clean: Measurement
    noisy: Mapping[float, Measurement]
    calibration_error: float
    coverage: float | None
    milliseconds: float
    parameters: int

    def metrics(self) -> dict[str, float]:
        """The F1, also under noise, and the coverage, by the names of `layoutray evaluate`."""
        noisy = {noise_metric(one.metric, share): one.value for share, one in self.noisy.items()}
        covered = {} if self.coverage is None else {"accepted_at_99": self.coverage}
        return {self.clean.metric: self.clean.value} | covered | noisy


def kept_comparison(folder: str, selection: PageSelection) -> ComparedModel:
    """What is compared of the checkpoint in `folder`, of a task with a `counted_metric`; kept in that folder.

    Raises:
        InputError: when no selected document is labelled.
    """
    result = kept(folder, "compared", selection, _measured)
    clean, noisy = Measurement(**result.pop("clean")), result.pop("noisy")
    return ComparedModel(clean=clean, noisy={float(rate): Measurement(**one) for rate, one in noisy.items()}, **result)


def _measured(loaded: Checkpoint, selection: PageSelection) -> dict[str, Any]:
    metrics = evaluate(loaded, selection).metrics
    started = time.perf_counter()  # after a pass over the same pages, so that nothing is used for the first time
    clean = measure(loaded, selection)
    seconds = time.perf_counter() - started
    return asdict(
        ComparedModel(
            clean=clean,
            noisy={rate: measure(loaded, selection, rate) for rate in NOISE},
            calibration_error=metrics["field_ece" if "field_ece" in metrics else "ece"],
            coverage=metrics.get("accepted_at_99"),
            milliseconds=1000 * seconds / selection.num_pages,
            parameters=sum(parameter.numel() for parameter in loaded.model.parameters()),
        )
    )
