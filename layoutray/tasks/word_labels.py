"""What tasks share that give each word one label, predicted at the word's first token."""

import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.special import softmax
from torch import Tensor, nn

from layoutray.batching.collate import IGNORED
from layoutray.batching.examples import Example
from layoutray.batching.windows import Window, first_pieces
from layoutray.document import Page
from layoutray.document.answers import Candidate, Entity
from layoutray.document.tags import OUTSIDE, is_unknown, kind_of, kinds_ruled_out
from layoutray.errors import DocumentError, Reason
from layoutray.metrics import calibration
from layoutray.tasks import Confidences, Corruption, Outputs, TaskModel, no_corruption, ruled_out
from layoutray.tasks.model import targets_of_states
from layoutray.tensors import Batch, Encoded, Encoder
from layoutray.tokenizer import Tokenizer

CERTAIN = 100.0
"""Logit of the first label (the others are 0) at tokens that the architecture dropped: they are in no entity."""


class WordLabelling(ABC):
    """The part of such a task that does not depend on what its labels mean."""

    of_documents: ClassVar[bool] = False
    prefixes: ClassVar[str] = "B"
    """Of the labels that each type has."""

    def true_labels(self, page: Page) -> list[str | None]:
        """The true label of each word of a page, or None. Raises DocumentError (bad_annotation) for other tags."""
        return [word.tag for word in page.words]

    def decode(self, scores: NDArray[np.float32], labels: Sequence[str]) -> NDArray[np.intp]:
        """The index of each word's label, from the page's logits or log-probabilities (words, labels): the highest."""
        return scores.argmax(1)

    def targets(self, page: Page, window: Window, labels: Sequence[str]) -> list[int]:
        """See `layoutray.tasks.TagsWords`.

        A word with the tag `?` has no target, unless types are ruled out (`layoutray.tasks.ruled_out`).

        Regions need not cover a page: if `labels` are of regions and any word of the page has a tag, a word without a
        tag has no target.

        Raises:
            DocumentError: (bad_annotation) when a word has a tag that is not in `labels`; when a word has no tag and
                `labels` are of entities; when no word of the page has a tag.
        """
        truth = self.true_labels(page)
        index: dict[str | None, int] = {label: number for number, label in enumerate(labels)}
        index |= {tag: ruled_out.target(kinds_ruled_out(tag), labels) for tag in {*truth} if tag and is_unknown(tag)}
        if OUTSIDE not in index and any(tag is not None for tag in truth):
            index[None] = IGNORED
        targets = np.full(len(window.word_index), IGNORED)
        for token in np.flatnonzero(first_pieces(window.word_index)):
            word = int(window.word_index[token])
            tag = truth[word]
            if tag not in index:
                problem = (
                    "has no tag; this task needs a labelled set"
                    if tag is None
                    else f"has tag {tag}; the model knows {', '.join(labels)}"
                )
                raise DocumentError(
                    Reason.BAD_ANNOTATION,
                    f"word {word} ({page.words[word].text!r}) on page {page.number} of {page.source} {problem}",
                    stage="encode",
                )
            targets[token] = index[tag]
        return targets.tolist()

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        return TokenClassificationHead(encoder.width, num_labels, dropout, len(self.prefixes))

    def corruption(self, tokenizer: Tokenizer) -> Corruption:
        return no_corruption

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list["WindowLabels"]:
        encoded, logits = model.scores(batch)
        length = max(len(example.input_ids) for example in examples)
        scores = encoded.in_input_order(logits.float(), length, CERTAIN).cpu().numpy()
        kept = encoded.in_input_order(torch.ones_like(logits[..., :1]), length, 0.0)[..., 0].bool().cpu().numpy()
        observed: list[WindowLabels] = []
        for example, of_tokens, is_kept in zip(examples, scores, kept, strict=True):
            assert example.labels is not None
            starts = np.flatnonzero(first_pieces(example.word_index) & (example.labels >= 0))
            x0, y0, x1, y1 = example.boxes[starts].T
            observed.append(
                WindowLabels(
                    doc_id=example.doc_id,
                    page=example.page,
                    window=example.window,
                    words=example.word_index[starts],
                    areas=(x1 - x0) * (y1 - y0),
                    gold=example.labels[starts],
                    scores=of_tokens[starts],
                    kept=is_kept[starts],
                )
            )
        return observed

    def labels_by_page(self, observations: Sequence["WindowLabels"], labels: Sequence[str]) -> list["PageLabels"]:
        """The labels of each page, from its windows in any order. A word cut by a window's border counts once."""
        return [
            PageLabels(page.areas.tolist(), _names(page.gold, labels), _names(self.decode(page.scores, labels), labels))
            for page in _whole_pages(observations)
        ]

    def confusion(self, observations: Sequence["WindowLabels"], labels: Sequence[str]) -> Counter[tuple[str, str]]:
        return Counter(
            (kind_of(true), kind_of(predicted))
            for page in self.labels_by_page(observations, labels)
            for true, predicted in zip(page.gold, page.predicted, strict=True)
        )

    def temperature(self, observations: Sequence["WindowLabels"]) -> float:
        pages = [*_whole_pages(observations)]
        if not pages:
            return 1.0
        logits, gold = (
            np.concatenate([getattr(page, column)[page.kept] for page in pages]) for column in ("scores", "gold")
        )
        return calibration.temperature(logits, gold)

    def confidences(
        self, observations: Sequence["WindowLabels"], labels: Sequence[str], temperature: float
    ) -> Confidences:
        confidences, correct = [np.zeros(0)], [np.zeros(0, np.bool_)]
        for page in _whole_pages(observations):
            predicted = self.decode(page.scores, labels)
            confidences.append(softmax(page.scores / temperature, 1)[np.arange(len(predicted)), predicted])
            correct.append(predicted == page.gold)
        return np.concatenate(confidences), np.concatenate(correct)

    def answer(self, page: Page, outputs: Outputs, labels: Sequence[str]) -> tuple[Entity, ...]:
        return self.entities_from_probabilities(page, word_probabilities(page, outputs, labels), labels)

    def candidates(
        self, page: Page, outputs: Outputs, labels: Sequence[str], found: Sequence[Entity]
    ) -> tuple[Candidate, ...]:
        return ()

    def entities_from_probabilities(
        self, page: Page, probabilities: NDArray[np.float32], labels: Sequence[str]
    ) -> tuple[Entity, ...]:
        """Entities of the decoded tags of a page's words, from the probabilities (words, labels) of their tags."""
        predicted = self.decode(np.log(np.maximum(probabilities, np.finfo(np.float32).tiny)), labels)
        confidences = probabilities[np.arange(len(predicted)), predicted]
        return self.entities_from_tags(page, _names(predicted, labels), confidences.tolist())

    @abstractmethod
    def entities_from_tags(
        self, page: Page, tags: Sequence[str | None], confidences: Sequence[float]
    ) -> tuple[Entity, ...]:
        """See `layoutray.tasks.TagsWords`."""


def word_probabilities(page: Page, outputs: Outputs, labels: Sequence[str]) -> NDArray[np.float32]:
    """(words, labels) probabilities of each word: those of its first token; the first label for words in no window."""
    of_words = np.zeros((len(page.words), len(labels)), np.float32)
    of_words[:, 0] = 1.0
    # In reverse order: of a word cut by a border, the part in the first window counts.
    for example, probabilities in reversed(outputs):
        starts = np.flatnonzero(first_pieces(example.word_index))
        of_words[example.word_index[starts]] = probabilities.numpy()[starts]
    return of_words


def geometric_mean(confidences: Sequence[float]) -> float:
    """The confidence of an entity, from those of its words."""
    return math.exp(math.fsum(math.log(max(confidence, 1e-12)) for confidence in confidences) / len(confidences))


def _names(indices: NDArray[np.integer], labels: Sequence[str]) -> list[str]:
    numbers: list[int] = indices.tolist()
    return [labels[number] for number in numbers]


class TokenClassificationHead(nn.Module):
    """Dropout and one linear layer. `parts`: number of labels of each type."""

    def __init__(self, width: int, num_labels: int, dropout: float, parts: int = 1) -> None:
        super().__init__()
        self.parts = parts
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(width, num_labels)

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch kept labels"]:
        return self.classifier(self.dropout(encoded.states))

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        logits = self(encoded).float()
        return ruled_out.cross_entropy(logits.flatten(0, 1), targets_of_states(encoded, batch).flatten(), self.parts)

    def target_loss(self, states: Float[Tensor, "targets width"], targets: Int[Tensor, " targets"]) -> Tensor:
        """See `layoutray.tasks.model.TargetHead`."""
        return ruled_out.cross_entropy(self.classifier(self.dropout(states)).float(), targets, self.parts)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WindowLabels:
    """True label and logits of each word that starts in one window.

    Attributes:
        words: indices of the words within the page.
        areas: areas of the words' boxes, in millionths of the page.
        gold: indices of the true labels.
        scores: (words, labels) logits.
        kept: whether the architecture kept the word's token; logits of dropped tokens do not come from the model.
    """

    doc_id: str
    page: int
    window: int
    words: NDArray[np.int32]
    areas: NDArray[np.int32]
    gold: NDArray[np.int32]
    scores: NDArray[np.float32]
    kept: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PageLabels:
    """Area, true and predicted label of each labelled word of a page, in reading order."""

    areas: list[int]
    gold: list[str]
    predicted: list[str]


def _whole_pages(observations: Sequence[WindowLabels]) -> Iterator[WindowLabels]:
    """The joined windows of each page, in any order. Of a word cut by a border, the part in the first window counts."""
    pages: dict[tuple[str, int], list[WindowLabels]] = defaultdict(list)
    for window in sorted(observations, key=lambda window: (window.doc_id, window.page, window.window)):
        pages[window.doc_id, window.page].append(window)
    for (doc_id, page), windows in pages.items():
        words, first = np.unique(np.concatenate([window.words for window in windows]), return_index=True)
        columns = ("areas", "gold", "scores", "kept")
        joined = {name: np.concatenate([getattr(window, name) for window in windows])[first] for name in columns}
        yield WindowLabels(doc_id=doc_id, page=page, window=0, words=words, **joined)
