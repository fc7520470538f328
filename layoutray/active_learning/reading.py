"""What a model makes of documents that nobody has labelled: how uncertain it is, and the mean of its states.

The uncertainty of a document is the number of words whose label is expected to be wrong: the sum over words of 1 minus
the probability of the most probable label (least confidence, for each word as in Culotta and McCallum, 2005; summed as
in total token entropy of Settles and Craven, 2008). Probabilities are those that the checkpoint's temperature
calibrates.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from layoutray.batching.examples import Example
from layoutray.batching.windows import first_pieces
from layoutray.document import Page
from layoutray.document.tags import kind_of
from layoutray.inference.extractor import Extractor, WindowOutput

_DOUBTS = 5
"""Words of a document that are shown as the least certain ones."""


@dataclass(frozen=True, slots=True)
class LabelledWord:
    """A word with its most probable label: an entity type, a region, or `O`.

    Attributes:
        confidence: probability of the label, 0..1.
    """

    confidence: float
    text: str
    label: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ReadDocument:
    """A document as the model reads it.

    Attributes:
        words: number of words.
        uncertainty: see the module's docstring; from 0 to `words`.
        state: (width,) mean of the encoder's states of all windows, each window by its number of tokens.
        doubts: words with the least certain labels, the least certain first.
    """

    doc_id: str
    source: str
    words: int
    uncertainty: float
    state: NDArray[np.float32]
    doubts: tuple[LabelledWord, ...]


def read_documents(extractor: Extractor, batches: Iterable[Sequence[Page]]) -> list[ReadDocument]:
    """The documents of all pages, in the order of their first pages; documents without words are left out.

    Args:
        batches: pages that are read together; those of a document may be in several.
    """
    readings: dict[str, _Reading] = {}
    for pages in batches:
        windows = extractor.tagging.windows(pages)
        outputs = iter(extractor.outputs(windows))
        for page, of_page in zip(pages, windows, strict=True):
            for window in of_page:
                reading = readings.setdefault(page.doc_id, _Reading(source=page.source))
                reading.add(page, window, next(outputs), extractor.tagging.labels)
    return [reading.document(doc_id) for doc_id, reading in readings.items()]


@dataclass(kw_only=True)
class _Reading:
    """Sums over the windows of a document that were read so far."""

    source: str
    words: int = 0
    tokens: int = 0
    wrong: float = 0.0
    states: NDArray[np.float64] = field(default_factory=lambda: np.zeros(()))
    doubts: list[LabelledWord] = field(default_factory=list[LabelledWord])

    def add(self, page: Page, window: Example, output: WindowOutput, labels: Sequence[str]) -> None:
        starts = np.flatnonzero(first_pieces(window.word_index))
        confidences, numbers = output.probabilities[starts].max(1)
        self.words += len(starts)
        self.tokens += len(window.input_ids)
        self.wrong += float((1 - confidences).sum())
        self.states = self.states + len(window.input_ids) * output.state.double().numpy()
        words = (page.words[index].text for index in window.word_index[starts].tolist())
        named = (kind_of(labels[int(number)]) for number in numbers)
        found = map(LabelledWord, confidences.tolist(), words, named)
        self.doubts = heapq.nsmallest(_DOUBTS, (*self.doubts, *found), key=lambda word: word.confidence)

    def document(self, doc_id: str) -> ReadDocument:
        state = (self.states / self.tokens).astype(np.float32)
        return ReadDocument(
            doc_id=doc_id,
            source=self.source,
            words=self.words,
            uncertainty=self.wrong,
            state=state,
            doubts=tuple(self.doubts),
        )
