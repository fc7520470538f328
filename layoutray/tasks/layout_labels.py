"""Document layout analysis, word by word: label the words of a page with the kind of their region, as on DocBank."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from layoutray.document import Box, Page
from layoutray.document.answers import Entity, Region
from layoutray.errors import InputError
from layoutray.metrics.docbank_area import area_scores
from layoutray.metrics.item_counts import named_shares
from layoutray.tasks import Objective, TagsWords
from layoutray.tasks.word_labels import WindowLabels, WordLabelling, geometric_mean


@dataclass(frozen=True)
class LayoutLabels(WordLabelling):
    """See the module's docstring."""

    name: str = "layout_labels"
    objective: ClassVar[Objective] = ("area_f1", "max")

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        names = sorted({tag for page in tags for tag in page})
        if not names:
            raise InputError("no page has region labels; ingest a labelled set, or use task masked_lm")
        return tuple(names)

    def summarise(self, observations: Sequence[WindowLabels], labels: Sequence[str]) -> dict[str, float]:
        """`area_*` are DocBank's scores by area, `token_*` the same by number of words.

        `area_f1.title` is the score of label `title`, and `area_f1` the mean over labels.
        """
        pages = self.labels_by_page(observations, labels)
        return _metrics("area", [(page.areas, page.gold, page.predicted) for page in pages]) | _metrics(
            "token", [([1] * len(page.gold), page.gold, page.predicted) for page in pages]
        )

    def entities_from_tags(
        self, page: Page, tags: Sequence[str | None], confidences: Sequence[float]
    ) -> tuple[Entity, ...]:
        """Consecutive words with the same label and in the same block of the page are one region."""
        entities: list[Entity] = []
        for (label, _), run in groupby(range(len(tags)), lambda word: (tags[word], page.words[word].block)):
            if label is not None:
                numbers = tuple(run)
                words = [page.words[number] for number in numbers]
                region = Region(page.number, Box.around(word.box for word in words).polygon(page.width, page.height))
                confidence = geometric_mean([confidences[number] for number in numbers])
                entities.append(
                    Entity(
                        type=label,
                        content=" ".join(word.text for word in words),
                        confidence=confidence,
                        bounding_regions=(region,),
                        words=numbers,
                    )
                )
        return tuple(entities)


def _metrics(prefix: str, pages: Sequence[tuple[Sequence[float], Sequence[str], Sequence[str]]]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for name, score in area_scores(pages).items():
        suffix = "" if name == "macro" else f".{name}"
        metrics |= named_shares(score._asdict(), f"{prefix}_", suffix)
    return metrics


TASK: type[TagsWords] = LayoutLabels
