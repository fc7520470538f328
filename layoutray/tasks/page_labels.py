"""Label pages: the kind of their document, and whether a page begins it, as IOB2 tags of whole pages.

The model reads the first and the last words of a page, as one window, and labels it from the mean of the window's
states. `layoutray.tasks.packets` joins the labels of all pages of a packet to documents. The truth is the fields `part`
of documents (`layoutray.document.packets`). Pages without words have no window and no label.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.batching.collate import IGNORED
from layoutray.batching.examples import Example
from layoutray.document import Box, Page
from layoutray.document.answers import Entity, Region
from layoutray.document.tags import UNKNOWN, kind_of, split_tag
from layoutray.errors import InputError
from layoutray.tasks import LabelsPages, Objective, TaskModel
from layoutray.tasks.word_labels import WindowLabels, WordLabelling
from layoutray.tensors import Batch, Encoded, Encoder

_FIRST, _LAST = 110, 50
"""Words of a page that are read: titles and page numbers are among them. More cost time and gain nothing."""
_WHOLE = Box(0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class PageLabelling(WordLabelling):
    """See the module's docstring."""

    name: str = "page_labels"
    objective: ClassVar[Objective] = ("accuracy", "max")

    def read(self, page: Page) -> Page:
        """See `layoutray.tasks.LabelsPages`."""
        if len(page.words) <= _FIRST + _LAST:
            return page
        return replace(page, words=(*page.words[:_FIRST], *page.words[-_LAST:]))

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        kinds = sorted({split_tag(tag)[1] for page in tags for tag in page} - {""})
        if not kinds:
            raise InputError("no document says what kinds its pages are; ingest a table with columns file, pages, kind")
        return tuple(f"{prefix}-{kind}" for kind in kinds for prefix in "BI")

    def true_labels(self, page: Page) -> list[str | None]:
        """The page's label, at its first word; the others have no target, nor has a second window."""
        tags = super().true_labels(page)
        return [*tags[:1], *[UNKNOWN] * len(tags[1:])] if any(tags) else tags

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        return PageHead(encoder.width, num_labels, dropout)

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list[WindowLabels]:
        _, logits = model.scores(batch)
        first = np.zeros(1, np.int32)
        return [
            WindowLabels(
                doc_id=example.doc_id,
                page=example.page,
                window=example.window,
                words=first,
                areas=first,
                gold=example.labels[example.labels != IGNORED],
                scores=scores[:1],
                kept=np.ones(1, np.bool_),
            )
            for example, scores in zip(examples, logits.float().cpu().numpy(), strict=True)
            if example.labels is not None and (example.labels != IGNORED).any()
        ]

    def summarise(self, observations: Sequence[WindowLabels], labels: Sequence[str]) -> dict[str, float]:
        """Shares of pages: `accuracy` of kind and position, `kind_accuracy`, `begin_accuracy` of the position alone.

        `pages` counts them.
        """
        pages = self.labels_by_page(observations, labels)
        judged = [(page.gold[0], page.predicted[0]) for page in pages]
        if not judged:
            raise InputError("no page has a label and words")
        shares = {
            "accuracy": [true == found for true, found in judged],
            "kind_accuracy": [kind_of(true) == kind_of(found) for true, found in judged],
            "begin_accuracy": [true[0] == found[0] for true, found in judged],
        }
        return {name: sum(right) / len(right) for name, right in shares.items()} | {"pages": float(len(judged))}

    def answer(
        self, page: Page, outputs: Sequence[tuple[Example, Tensor]], labels: Sequence[str]
    ) -> tuple[Entity, ...]:
        """An entity for each label, whose confidence is the label's probability; none for a page without words."""
        if not outputs:
            return ()
        (_, probabilities), *_ = outputs
        return tuple(_entity(page, *one) for one in zip(labels, probabilities[0].tolist(), strict=True))

    def entities_from_tags(
        self, page: Page, tags: Sequence[str | None], confidences: Sequence[float]
    ) -> tuple[Entity, ...]:
        return tuple(
            _entity(page, tag, confidence)
            for tag, confidence in zip(tags[:1], confidences[:1], strict=True)
            if tag not in (None, UNKNOWN)
        )


def _entity(page: Page, label: str | None, confidence: float) -> Entity:
    region = Region(page.number, _WHOLE.polygon(page.width, page.height))
    return Entity(type=label or "", content="", confidence=confidence, bounding_regions=(region,), words=())


class PageHead(nn.Module):
    """Dropout and one linear layer on the mean of a window's states; every token has the scores of its window."""

    def __init__(self, width: int, num_labels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(width, num_labels)

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch kept labels"]:
        return self._of_windows(encoded)[:, None].expand(-1, encoded.states.shape[1], -1)

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        assert batch.labels is not None, "a loss needs a batch with labels"
        targets = batch.labels.amax(1)  # of a window all tokens but one are ignored
        return functional.cross_entropy(
            self._of_windows(encoded).float(), targets, ignore_index=IGNORED, reduction="sum"
        )

    def _of_windows(self, encoded: Encoded) -> Float[Tensor, "batch labels"]:
        real = encoded.mask[..., None]
        mean = encoded.states.masked_fill(~real, 0.0).sum(1) / real.sum(1)
        return self.classifier(self.dropout(mean))


TASK: type[LabelsPages] = PageLabelling
