"""The one metric by which trained models are compared, with the counts of each document where it is an F1."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError
from layoutray.evaluation.capabilities import counted_metric
from layoutray.evaluation.document_counts import DocumentCounts, count_by_document
from layoutray.evaluation.evaluate import evaluate
from layoutray.evaluation.kept_results import kept
from layoutray.evaluation.page_selection import PageSelection
from layoutray.metrics.bootstrap import Counts, Estimate, f1, mean_of_seeds


@dataclass(frozen=True)
class Measurement:
    """What was measured of one checkpoint.

    Attributes:
        metric: `field_f1` of a model that answers fields, `f1` of one that finds entities, else the task's objective.
        best: whether higher or lower values are better.
        counts: of each document, if the metric is an F1; else empty.
    """

    metric: str
    best: Literal["min", "max"]
    value: float
    counts: DocumentCounts = field(default_factory=dict[str, tuple[int, int, int]])


def measure(loaded: Checkpoint, selection: PageSelection, noise: float = 0.0) -> Measurement:
    """Measure a checkpoint on the selected pages. Raises InputError as `evaluate` and `count_by_document`.

    Args:
        noise: see `count_by_document`; only for a metric with counts.
    """
    if metric := counted_metric(loaded.recipe.task):
        counts = count_by_document(loaded, selection, noise)
        return Measurement(metric, "max", f1(np.array([[*counts.values()]])).value, counts)
    metric, best = loaded.recipe.task.objective
    return Measurement(metric, best, evaluate(loaded, selection).metrics[metric])


def metrics_under_noise(loaded: Checkpoint, selection: PageSelection, shares: Sequence[float]) -> dict[str, float]:
    """The F1 of a checkpoint when words have wrong characters, by names such as `field_f1_noise_5` (for 0.05).

    Raises:
        InputError: if shares are given and the checkpoint has no `counted_metric`.
    """
    metric = counted_metric(loaded.recipe.task)
    if shares and metric is None:
        raise InputError(
            f"task {loaded.recipe.task.name} has no F1 of fields or entities, so noise cannot be measured; leave it out"
        )
    return {noise_metric(str(metric), share): measure(loaded, selection, share).value for share in shares}


def noise_metric(metric: str, share: float) -> str:
    """The name of `metric` when this share of the characters is wrong."""
    return f"{metric}_noise_{100 * share:g}"


def estimate(of_seeds: Sequence[Measurement]) -> Estimate:
    """The mean metric of models that differ in the seed; all were measured on the same documents."""
    if not of_seeds[0].counts:
        return mean_of_seeds([one.value for one in of_seeds])
    return f1(counts_of(of_seeds))


def counts_of(of_seeds: Sequence[Measurement]) -> Counts:
    """The counts of models that were measured on the same documents, in the order of the first one's documents."""
    doc_ids = [*of_seeds[0].counts]
    return np.array([[one.counts[doc_id] for doc_id in doc_ids] for one in of_seeds])


def kept_measurement(folder: str, selection: PageSelection) -> Measurement:
    """`measure` of the checkpoint in `folder`, where the result is kept."""
    return Measurement(**kept(folder, "measured", selection, lambda *of: vars(measure(*of))))
