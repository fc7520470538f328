"""How long a model is trained, and how it is measured, by the number of its documents.

The numbers are those that docs/results/few-labels.md has measured: from a start that was trained on other labelled
documents, 40 steps of 8 windows suffice for 5 to 100 receipts; from a text encoder, which has seen none, 100 steps. All
595 receipts need 4 passes over their windows. A batch of 8 windows and a learning rate of 3e-4 fit all these sizes. The
mean of the weights before and after the shortest trainings answers better than either, if the start answers by names.
"""

from dataclasses import dataclass
from math import ceil

from layoutray.errors import InputError

STEPS_OF_A_START = 40
"""Fewest steps from a model that was trained on other labelled documents."""
STEPS_OF_AN_ENCODER = 100
"""Fewest steps from a text encoder."""
STEPS_WITH_PARTIAL = 300
"""The same if some documents are known in part, which have few values each (docs/results/review.md)."""
SHARE_OF_A_START = 0.5
"""Of a start that answers fields by their names, in models of the fewest steps."""
_BATCH = 8
_PASSES = 4
_FEWEST_DOCUMENTS = 3
_ALL_FOLDS_UP_TO = 50
"""Documents. With more, one fold has enough of them to measure on."""
_FOLDS = 5
_FEWEST_FOR_A_CURVE = 20
"""Documents. With fewer, the half of a fold's documents says nothing about more of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The trainings of a set of documents.

    Attributes:
        steps: of each training; `batch_size` windows each.
        documents: number of them.
        folds: number of parts of the documents.
        measured: number of parts that are measured by a model that was trained on all other parts.
        half: number of documents of further trainings, from which what more documents would bring is predicted; 0 if
            there are too few for such a prediction.
    """

    documents: int

    steps: int
    batch_size: int
    learning_rate: float
    warmup_steps: int
    start_share: float
    word_masking: float
    folds: int
    measured: int
    half: int

    @property
    def in_training(self) -> int:
        """Number of documents that a model which is measured is trained on."""
        return self.documents - self.documents // self.folds

    def assignments(self) -> list[str]:
        """The training settings, as `KEY=VALUE` assignments to recipe keys."""
        keys = ("steps", "batch_size", "learning_rate", "warmup_steps", "start_share", "word_masking")
        return [f"train.{key}={getattr(self, key)}" for key in keys]


def schedule(documents: int, windows: int, fewest_steps: int, start_share: float = 0.0, folds: int = 0) -> Schedule:
    """The trainings of `documents` labelled documents that have `windows` windows.

    Args:
        fewest_steps: one of the constants above.
        start_share: SHARE_OF_A_START or 0; longer trainings have 0.
        folds: number of parts; 0 chooses it: 5, of which one is measured if there are more than 50 documents.

    Raises:
        InputError: if there are too few documents, or fewer than `folds`.
    """
    if documents < _FEWEST_DOCUMENTS:
        raise InputError(
            f"there are {documents} documents with values; give at least {_FEWEST_DOCUMENTS}, because a model is "
            "measured on documents that it was not trained on"
        )
    if folds == 1 or folds > documents:
        raise InputError(f"folds is {folds}; it must be from 2 to the number of documents, {documents}")
    steps = max(fewest_steps, ceil(_PASSES * windows / _BATCH))
    parts = folds or min(_FOLDS, documents)
    return Schedule(
        documents=documents,
        steps=steps,
        batch_size=_BATCH,
        learning_rate=3e-4,
        warmup_steps=steps // 10,
        start_share=start_share if steps == fewest_steps else 0.0,
        # What was measured: no masking in the shortest trainings, a tenth in all others.
        word_masking=0.0 if steps == STEPS_OF_A_START else 0.1,
        folds=parts,
        measured=parts if folds or documents <= _ALL_FOLDS_UP_TO else 1,
        half=(documents - documents // parts) // 2 if documents >= _FEWEST_FOR_A_CURVE else 0,
    )
