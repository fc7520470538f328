"""Find entities: one BIOES tag for each word, decoded to the best legal tagging of the whole page.

The IOB2 tags of pages are learned as BIOES. Decoding covers all words of a page, also of a page that was cut into
windows. Scores are those of task `entities`, after the decoded tags are converted back to IOB2. The confidence of an
entity is the geometric mean of the probabilities of its decoded tags, each tag on its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Page
from layoutray.document.tags import is_known, spans, split_tag, to_bioes, to_iob2
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.tasks import TagsWords
from layoutray.tasks.entities import Entities
from layoutray.tasks.word_labels import PageLabels, WindowLabels


@dataclass(frozen=True)
class EntitiesBioes(Entities):
    """See the module's docstring."""

    name: str = "entities_bioes"
    prefixes: ClassVar[str] = "BIES"

    def true_labels(self, page: Page) -> list[str | None]:
        tags = super().true_labels(page)
        try:
            bioes = to_bioes(spans(tags), len(tags))
        except InputError as error:
            raise DocumentError(
                Reason.BAD_ANNOTATION, f"page {page.number} of {page.source}: {error}", stage="encode"
            ) from error
        return [label if is_known(tag) else tag for tag, label in zip(tags, bioes, strict=True)]

    def decode(self, scores: NDArray[np.float32], labels: Sequence[str]) -> NDArray[np.intp]:
        return best_legal(scores, labels)[0]

    def labels_by_page(self, observations: Sequence[WindowLabels], labels: Sequence[str]) -> list[PageLabels]:
        """In IOB2."""
        pages: list[PageLabels] = []
        for page in super().labels_by_page(observations, labels):
            gold, predicted = (to_iob2(spans(tags), len(tags)) for tags in (page.gold, page.predicted))
            pages.append(PageLabels(page.areas, gold, predicted))
        return pages


def best_legal(scores: NDArray[np.floating], labels: Sequence[str]) -> tuple[NDArray[np.intp], float]:
    """The legal sequence of labels with the highest sum of scores, and that sum, by Viterbi decoding in float64.

    A legal sequence starts with O, B- or S- and ends with O, E- or S-. B- and I- are followed by I- or E- of the same
    type, other tags by O, B- or S-. This is the decoding of FormNet (arXiv:2203.08411), which states no transition
    scores.

    Args:
        scores: (words, labels) log-probabilities, or values that differ from them by a constant per word.
        labels: BIOES tags in the order of the scores.

    Raises:
        InputError: for a label that is not a BIOES tag, for scores of another width, and when no legal sequence has a
            finite score.
    """
    if scores.ndim != 2 or scores.shape[1] != len(labels):
        raise InputError(
            f"scores have shape {scores.shape}, expected (words, {len(labels)}): one column for each label"
        )
    if not len(scores):
        return np.zeros(0, np.intp), 0.0
    start, end, follows = _constraints(tuple(labels))
    before = np.zeros(scores.shape, np.intp)
    rows = np.arange(len(labels))
    best = scores[0].astype(np.float64) + start
    for word in range(1, len(scores)):
        paths = follows + best
        before[word] = paths.argmax(1)
        best = paths[rows, before[word]] + scores[word]
    best += end
    path = np.empty(len(scores), np.intp)
    path[-1] = best.argmax()
    if not np.isfinite(best[path[-1]]):
        raise InputError(
            f"no BIOES sequence of {len(scores)} words has a finite score under the labels {', '.join(labels)}"
        )
    for word in range(len(scores) - 1, 0, -1):
        path[word - 1] = before[word, path[word]]
    return path, float(best[path[-1]])


@lru_cache(maxsize=8)
def _constraints(labels: tuple[str, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Scores of a label at the start, at the end, and (to, from) after another label: 0 if legal, else -infinity."""
    tags = [split_tag(label) for label in labels]
    opens = np.array([prefix in "OBS" for prefix, _ in tags])
    closes = np.array([prefix in "OES" for prefix, _ in tags])
    kinds = np.array([kind for _, kind in tags])
    goes_on = kinds[:, None] == kinds
    legal = np.where(closes, opens[:, None], ~opens[:, None] & goes_on)
    start, end, follows = (np.where(allowed, 0.0, -np.inf) for allowed in (opens, closes, legal))
    return start, end, follows


TASK: type[TagsWords] = EntitiesBioes
