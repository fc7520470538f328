"""Find entities: one BIOES tag per word, and of each page's taggings the best legal one.

The pages' IOB2 tags are learned as BIOES. Decoding (see `layoutray.tasks.viterbi`) runs over all words of a page, whatever windows it was
cut into. Scores are those of task `entities`, from the decoded tags turned back into IOB2; the confidence of an entity is the geometric
mean of the probabilities that the model gives the decoded tags, each for itself.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Page
from layoutray.document.tags import spans, to_bioes, to_iob2
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.tasks import viterbi
from layoutray.tasks.entities import Entities
from layoutray.tasks.word_labels import PageLabels, WindowLabels


class EntitiesBioes(Entities):
    """See the module's docstring."""

    name = "entities_bioes"
    prefixes = "BIES"

    def truth(self, page: Page) -> list[str | None]:
        tags = super().truth(page)
        try:
            bioes = to_bioes(spans(tags), len(tags))
        except InputError as error:
            raise DocumentError(
                Reason.BAD_ANNOTATION, f"page {page.number} of {page.source}: {error}", stage="encode"
            ) from error
        return [None if tag is None else found for tag, found in zip(tags, bioes, strict=True)]

    def decode(self, scores: NDArray[np.float32], labels: Sequence[str]) -> NDArray[np.intp]:
        return viterbi.decode(scores, labels)[0]

    def by_page(self, observations: Sequence[WindowLabels], labels: Sequence[str]) -> list[PageLabels]:
        """In IOB2."""
        pages = super().by_page(observations, labels)
        return [PageLabels(page.areas, _iob2(page.gold), _iob2(page.predicted)) for page in pages]


def _iob2(tags: Sequence[str]) -> list[str]:
    return to_iob2(spans(tags), len(tags))


TASK = EntitiesBioes()
