"""What tasks share that predict words of the vocabulary, and label none of the page's."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from torch import Tensor

from layoutray.answers import Entity
from layoutray.batching.collate import IGNORED
from layoutray.batching.examples import Example
from layoutray.batching.windows import Window
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.tasks import Certainties, TaskModel
from layoutray.tensors import Batch


class WordPrediction:
    """The part of such a task that does not depend on which words are predicted.

    Attributes:
        predicted: what these words are called among the metrics.
    """

    name: str
    predicted: str
    of_documents = False
    objective: tuple[str, Literal["min", "max"]] = ("perplexity", "min")

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        return ()

    def targets(self, page: Page, window: Window, labels: Sequence[str]) -> list[int] | None:
        return None

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list[tuple[float, int]]:
        assert batch.labels is not None
        return [(float(model(batch)), int((batch.labels != IGNORED).sum()))]

    def summarise(self, observations: Sequence[tuple[float, int]], labels: Sequence[str]) -> dict[str, float]:
        """Mean loss over all predicted words, and its exponential, the perplexity."""
        # fsum: the same result in whatever order workers hand in their part.
        total, count = math.fsum(loss for loss, _ in observations), sum(count for _, count in observations)
        if count == 0:
            raise InputError(
                f"there are no {self.predicted.replace('_', ' ')}; the set is empty, or too little of it is to be predicted"
            )
        return {"loss": total / count, "perplexity": math.exp(total / count), self.predicted: float(count)}

    def confusion(self, observations: Sequence[tuple[float, int]], labels: Sequence[str]) -> Counter[tuple[str, str]]:
        return Counter()

    def temperature(self, observations: Sequence[tuple[float, int]]) -> float:
        return 1.0

    def certainties(
        self, observations: Sequence[tuple[float, int]], labels: Sequence[str], temperature: float
    ) -> Certainties:
        return np.zeros(0), np.zeros(0, np.bool_)

    def answer(
        self, page: Page, outputs: Sequence[tuple[Example, Tensor]], labels: Sequence[str]
    ) -> tuple[Entity, ...]:
        raise self._finds_nothing()

    def entities_from_tags(self, page: Page, tags: Sequence[str | None], sure: Sequence[float]) -> tuple[Entity, ...]:
        raise self._finds_nothing()

    def _finds_nothing(self) -> InputError:
        return InputError(
            f"a {self.name} checkpoint finds no entities; fine-tune one for them with `layoutray finetune` and use that"
        )
