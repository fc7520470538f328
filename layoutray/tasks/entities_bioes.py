"""Find entities: one BIOES tag for each word, decoded to the best legal tagging of the whole page.

The IOB2 tags of pages are learned as BIOES. Decoding (see `layoutray.tasks.viterbi`) covers all words of a page, also
of a page that was cut into windows. Scores are those of task `entities`, after the decoded tags are converted back to
IOB2. The confidence of an entity is the geometric mean of the probabilities of its decoded tags, each tag on its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Page
from layoutray.document.tags import is_known, spans, to_bioes, to_iob2
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.tasks import TagsWords, viterbi
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
        return viterbi.decode(scores, labels)[0]

    def labels_by_page(self, observations: Sequence[WindowLabels], labels: Sequence[str]) -> list[PageLabels]:
        """In IOB2."""
        pages: list[PageLabels] = []
        for page in super().labels_by_page(observations, labels):
            gold, predicted = (to_iob2(spans(tags), len(tags)) for tags in (page.gold, page.predicted))
            pages.append(PageLabels(page.areas, gold, predicted))
        return pages


TASK: type[TagsWords] = EntitiesBioes
