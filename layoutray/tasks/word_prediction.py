"""What tasks share that are measured by their mean loss and its perplexity, for example masked language modelling."""

import math
from collections.abc import Sequence
from typing import ClassVar

from layoutray.batching.collate import IGNORED
from layoutray.batching.examples import Example
from layoutray.errors import InputError
from layoutray.tasks import Objective, TaskModel
from layoutray.tensors import Batch


class WordPrediction:
    """The part of such a task that does not depend on what is predicted, which the metric `predicted` counts."""

    predicted: ClassVar[str]
    of_documents: ClassVar[bool] = False
    objective: ClassVar[Objective] = ("perplexity", "min")

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list[tuple[float, int]]:
        """The summed loss of a batch, and its number of targets."""
        assert batch.labels is not None
        return [(float(model(batch)), int((batch.labels != IGNORED).sum()))]

    def summarise(self, observations: Sequence[tuple[float, int]], labels: Sequence[str]) -> dict[str, float]:
        """Mean loss over all targets, and its exponential, the perplexity (infinite where a float cannot hold it).

        Raises:
            InputError: when there are no targets.
        """
        # fsum: the result does not depend on the order in which workers deliver their observations.
        total, count = math.fsum(loss for loss, _ in observations), sum(count for _, count in observations)
        if count == 0:
            raise InputError(
                f"there are no {self.predicted.replace('_', ' ')}: "
                "the set is empty, or too small a share of its tokens is predicted"
            )
        try:
            perplexity = math.exp(total / count)
        except OverflowError:  # above 709.78
            perplexity = math.inf
        return {"loss": total / count, "perplexity": perplexity, self.predicted: float(count)}


def check_mask_share(share: float) -> None:
    """Raise InputError unless 0 < `share` <= 1."""
    if not 0 < share <= 1:
        raise InputError(f"task.mask_share is {share}; it must be above 0 and at most 1")
