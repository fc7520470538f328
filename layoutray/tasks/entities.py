"""Find entities: one IOB2 tag per word, read at the word's first token."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from layoutray.answers import Entity, Region
from layoutray.document import Box, Page, Word
from layoutray.document.tags import spans, split_tag
from layoutray.errors import InputError
from layoutray.metrics.entity_f1 import entity_f1
from layoutray.tasks.word_labels import WindowLabels, WordLabelling


class Entities(WordLabelling):
    """See the module's docstring."""

    name = "entities"
    objective: tuple[str, Literal["min", "max"]] = ("f1", "max")
    prefixes = "BI"
    """Of the tags that each type has."""

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        types = sorted({split_tag(tag)[1] for page in tags for tag in page} - {""})
        if not types:
            raise InputError("no page carries entity tags; ingest a labelled set, or choose task masked_lm")
        return "O", *(f"{prefix}-{kind}" for kind in types for prefix in self.prefixes)

    def summarise(self, observations: Sequence[WindowLabels], labels: Sequence[str]) -> dict[str, float]:
        """seqeval's scores, flat: `f1` and the like are micro, `f1.question` of one type."""
        pages = self.by_page(observations, labels)
        flat: dict[str, float] = {}
        for kind, score in entity_f1([page.gold for page in pages], [page.predicted for page in pages]).items():
            suffix = "" if kind == "micro" else f".{kind}"
            flat |= {f"precision{suffix}": score.precision, f"recall{suffix}": score.recall, f"f1{suffix}": score.f1}
            flat[f"support{suffix}"] = float(score.support)
        return flat

    def entities_from_tags(self, page: Page, tags: Sequence[str | None], sure: Sequence[float]) -> tuple[Entity, ...]:
        return tuple(_entity(page, kind, range(start, end), sure[start:end]) for kind, start, end in spans(tags))


def _entity(page: Page, kind: str, words: range, sure: Sequence[float]) -> Entity:
    chosen = [page.words[word] for word in words]
    lines: dict[int, list[Word]] = defaultdict(list)
    for word in chosen:
        lines[word.line].append(word)
    regions = tuple(
        Region(page.number, Box.around(word.box for word in line).polygon(page.width, page.height))
        for line in lines.values()
    )
    confidence = math.exp(math.fsum(math.log(max(share, 1e-12)) for share in sure) / len(sure))
    return Entity(kind, " ".join(word.text for word in chosen), confidence, regions, tuple(words))


TASK = Entities()
