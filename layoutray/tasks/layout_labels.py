"""Label the regions of a page, word by word: title, paragraph, table, … (document layout analysis, as on DocBank)."""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from layoutray.answers import Entity, Region
from layoutray.document import Box, Page
from layoutray.errors import InputError
from layoutray.metrics.docbank_area import area_scores
from layoutray.tasks.word_labels import WindowLabels, WordLabelling


class LayoutLabels(WordLabelling):
    """See the module's docstring."""

    name = "layout_labels"
    objective: tuple[str, Literal["min", "max"]] = ("area_f1", "max")

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        found = sorted({tag for page in tags for tag in page})
        if not found:
            raise InputError("no page carries region labels; ingest a labelled set, or choose task masked_lm")
        return tuple(found)

    def summarise(self, observations: Sequence[WindowLabels], labels: Sequence[str]) -> dict[str, float]:
        """`area_*` are DocBank's scores by area, `token_*` the same by words; `.title` of one label, else the mean over labels."""
        pages = self.by_page(observations, labels)
        return _flat("area", [(page.areas, page.gold, page.predicted) for page in pages]) | _flat(
            "token", [([1] * len(page.gold), page.gold, page.predicted) for page in pages]
        )

    def entities_from_tags(self, page: Page, tags: Sequence[str | None], sure: Sequence[float]) -> tuple[Entity, ...]:
        """Words in a row with one label, within one block of the page, are one region."""
        rows = groupby(range(len(tags)), lambda word: (tags[word], page.words[word].block))
        return tuple(_region(page, label, tuple(words), sure) for (label, _), words in rows if label is not None)


def _flat(prefix: str, pages: Sequence[tuple[Sequence[float], Sequence[str], Sequence[str]]]) -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, score in area_scores(pages).items():
        suffix = "" if name == "macro" else f".{name}"
        flat |= {f"{prefix}_{measure}{suffix}": getattr(score, measure) for measure in ("precision", "recall", "f1")}
    return flat


def _region(page: Page, label: str, words: tuple[int, ...], sure: Sequence[float]) -> Entity:
    chosen = [page.words[word] for word in words]
    region = Region(page.number, Box.around(word.box for word in chosen).polygon(page.width, page.height))
    confidence = math.exp(math.fsum(math.log(max(sure[word], 1e-12)) for word in words) / len(words))
    return Entity(label, " ".join(word.text for word in chosen), confidence, (region,), words)


TASK = LayoutLabels()
