"""Label pages: the kind of their document, and whether a page begins and ends it, as BIOES tags of whole pages.

The model reads the first and the last words of a page, as one window, and labels it by logistic regression on the
states of an encoder that is not trained. `layoutray.tasks.packets` joins the labels of all pages of a packet to
documents. The truth is the fields `part` of documents (`layoutray.document.packets`). Pages without words have no
window and no label.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.document import Box, Page
from layoutray.document.answers import Entity, Region
from layoutray.document.tags import UNKNOWN, kind_of, split_tag
from layoutray.errors import InputError
from layoutray.tasks import LabelsPages, Objective, Outputs
from layoutray.tasks.word_labels import WindowLabels, WordLabelling
from layoutray.tensors import Encoded, Encoder

_FIRST, _LAST = 110, 50
"""Words of a page that are read: titles and page numbers are among them. More cost time and gain nothing."""
_AVERAGED = 128
"""Tokens at each end of a window whose states are averaged."""
_WEIGHT_PENALTY = 5.0
"""Of the squares, beside the summed loss."""
_LEAST_SPREAD = 0.01
_UNSEEN = -100.0
"""Bias of labels without examples, for example of further pages if all documents of a kind have one. They have a
probability of 0, from which a split knows them."""
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
        return tuple(f"{prefix}-{kind}" for kind in kinds for prefix in "BIES")

    def true_labels(self, page: Page) -> list[str | None]:
        """The page's label, at its first word; the others have no target, nor has a second window."""
        tags = super().true_labels(page)
        return [*tags[:1], *[UNKNOWN] * len(tags[1:])] if any(tags) else tags

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        return PageHead(encoder.width, num_labels)

    def summarise(self, observations: Sequence[WindowLabels], labels: Sequence[str]) -> dict[str, float]:
        """Shares of pages: `accuracy` of kind and position, `kind_accuracy`, `begin_accuracy` of the position alone.

        `pages` counts them.
        """
        pages = self.labels_by_page(observations, labels)
        judged = [(page.gold[0], page.predicted[0]) for page in pages if page.gold]
        if not judged:
            raise InputError("no page has a label and words")
        shares = {
            "accuracy": [_place(true) == _place(found) for true, found in judged],
            "kind_accuracy": [kind_of(true) == kind_of(found) for true, found in judged],
            "begin_accuracy": [_place(true)[1] == _place(found)[1] for true, found in judged],
        }
        return {name: sum(right) / len(right) for name, right in shares.items()} | {"pages": float(len(judged))}

    def answer(self, page: Page, outputs: Outputs, labels: Sequence[str]) -> tuple[Entity, ...]:
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


def _place(label: str) -> tuple[str, bool]:
    """The kind of a label, and whether a page with it begins a document."""
    return kind_of(label), label[0] in "BS"


def _entity(page: Page, label: str | None, confidence: float) -> Entity:
    region = Region(page.number, _WHOLE.polygon(page.width, page.height))
    return Entity(type=label or "", content="", confidence=confidence, bounding_regions=(region,), words=())


class PageHead(nn.Module):
    """One linear layer on what `features` takes of a window's states; every token has the scores of its window."""

    def __init__(self, width: int, num_labels: int) -> None:
        super().__init__()
        self.classifier = nn.Linear(4 * width, num_labels)

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch kept labels"]:
        return self.classifier(self.features(encoded))[:, None].expand(-1, encoded.states.shape[1], -1)

    def features(self, encoded: Encoded) -> Float[Tensor, "batch features"]:
        """The first state, the means of the first and of the last states of each window, and the maximum of all."""
        place, real = encoded.mask.cumsum(1) - 1, encoded.mask
        near = place < _AVERAGED, place >= real.sum(1, keepdim=True) - _AVERAGED
        means = [
            encoded.states.masked_fill(~(real & side)[..., None], 0.0).sum(1) / (real & side).sum(1, keepdim=True)
            for side in near
        ]
        most = encoded.states.masked_fill(~real[..., None], -torch.inf).amax(1)
        return torch.cat([encoded.states[:, 0], *means, most], -1)

    def fit(self, features: Float[Tensor, "examples features"], targets: Int[Tensor, " examples"]) -> float:
        """See `layoutray.tasks.model.FittedHead`. Weights are those of standardised features."""
        inputs = features.double()
        mean, spread = inputs.mean(0), inputs.std(0, correction=0) + _LEAST_SPREAD
        inputs = (inputs - mean) / spread
        seen, targets = targets.unique(return_inverse=True)
        weight = torch.zeros(len(seen), inputs.shape[1], dtype=torch.double, requires_grad=True)
        bias = torch.zeros(len(seen), dtype=torch.double, requires_grad=True)
        optimizer = torch.optim.LBFGS([weight, bias], max_iter=500, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            optimizer.zero_grad()
            penalty = _WEIGHT_PENALTY * weight.square().sum() / len(targets)
            total = functional.cross_entropy(inputs @ weight.T + bias, targets) + penalty
            total.backward()
            return total

        with torch.enable_grad():
            optimizer.step(loss)
        with torch.no_grad():
            self.classifier.weight.zero_()
            self.classifier.bias.fill_(_UNSEEN)
            self.classifier.weight[seen] = (weight / spread).float()
            self.classifier.bias[seen] = (bias - weight @ (mean / spread)).float()
            return float(functional.cross_entropy(inputs @ weight.T + bias, targets))


TASK: type[LabelsPages] = PageLabelling
