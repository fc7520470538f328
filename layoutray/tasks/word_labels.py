"""What tasks share that give each word one label, read at the word's first token."""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import softmax
from torch import Tensor, nn
from torch.nn import functional

from layoutray.answers import Entity
from layoutray.batching.collate import IGNORED
from layoutray.batching.examples import Example
from layoutray.batching.windows import Window, first_pieces
from layoutray.document import Page
from layoutray.document.tags import OUTSIDE
from layoutray.errors import DocumentError, Reason
from layoutray.metrics import calibration, confusion
from layoutray.tasks import Certainties, Corruption, TaskModel, Writing, targets_of, unchanged
from layoutray.tensors import Batch, Encoded, Encoder
from layoutray.tokenizer import Tokenizer

_CERTAIN = 100.0
"""Logit of the first label, the others' being 0, at tokens that the architecture has dropped: no part of an entity."""


class WordLabelling(ABC):
    """The part of such a task that does not depend on what its labels mean."""

    of_documents = False

    def truth(self, page: Page) -> list[str | None]:
        """The true label of each word of a page, None where it has none. Raises DocumentError where its tags do not fit the task."""
        return [word.tag for word in page.words]

    def decode(self, scores: NDArray[np.float32], labels: Sequence[str]) -> NDArray[np.intp]:
        """The number of the label of each word of a page, from the logits or log-probabilities (words, labels): each word's highest."""
        return scores.argmax(1)

    def targets(self, page: Page, window: Window, labels: Sequence[str]) -> list[int] | None:
        """See `layoutray.tasks.Task`.

        Regions need not cover a page: of their labels, a word without a tag has no target where other words of the page have one.

        Raises:
            DocumentError: (bad_annotation) when a word has a tag that `labels` lack, or has none and `labels` are of entities or no
                word of the page has one.
        """
        truth = self.truth(page)
        index: dict[str | None, int] = {label: number for number, label in enumerate(labels)}
        if OUTSIDE not in index and any(tag is not None for tag in truth):
            index[None] = IGNORED
        first = first_pieces(window.word_index)
        return [
            _target(truth[word], page, word, index) if starts else IGNORED
            for word, starts in zip(window.word_index.tolist(), first.tolist(), strict=True)
        ]

    def head(self, encoder: Encoder, num_labels: int, dropout: float, writing: Writing) -> nn.Module:
        return TokenClassificationHead(encoder.width, num_labels, dropout)

    def corruption(self, tokenizer: Tokenizer, mask_share: float) -> Corruption:
        return unchanged

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list["WindowLabels"]:
        encoded, logits = model.scores(batch)
        scores, origin, real = (part.cpu().numpy() for part in (logits.float(), encoded.origin, encoded.mask))
        return [
            _window_labels(example, scores[row][real[row]], origin[row][real[row]])
            for row, example in enumerate(examples)
        ]

    def by_page(self, observations: Sequence["WindowLabels"], labels: Sequence[str]) -> list["PageLabels"]:
        """Windows in any order put together, and their words labelled; a word cut by a border counts once, at its start."""
        return [
            PageLabels(page.areas.tolist(), _named(page.gold, labels), _named(self.decode(page.scores, labels), labels))
            for page in _whole_pages(observations)
        ]

    def confusion(self, observations: Sequence["WindowLabels"], labels: Sequence[str]) -> Counter[tuple[str, str]]:
        pages = self.by_page(observations, labels)
        return confusion.count([page.gold for page in pages], [page.predicted for page in pages])

    def temperature(self, observations: Sequence["WindowLabels"]) -> float:
        pages = [*_whole_pages(observations)]
        if not pages:
            return 1.0
        logits, gold = (
            np.concatenate([getattr(page, column)[page.kept] for page in pages]) for column in ("scores", "gold")
        )
        return calibration.temperature(logits, gold)

    def certainties(
        self, observations: Sequence["WindowLabels"], labels: Sequence[str], temperature: float
    ) -> Certainties:
        sure, right = [np.zeros(0)], [np.zeros(0, np.bool_)]
        for page in _whole_pages(observations):
            chosen = self.decode(page.scores, labels)
            sure.append(softmax(page.scores / temperature, 1)[np.arange(len(chosen)), chosen])
            right.append(chosen == page.gold)
        return np.concatenate(sure), np.concatenate(right)

    def answer(
        self, page: Page, outputs: Sequence[tuple[Example, Tensor]], labels: Sequence[str]
    ) -> tuple[Entity, ...]:
        shares = _word_shares(page, outputs, len(labels))
        chosen = self.decode(np.log(np.maximum(shares, np.finfo(np.float32).tiny)), labels)
        sure = shares[np.arange(len(chosen)), chosen]
        return self.entities_from_tags(page, _named(chosen, labels), sure.tolist())

    @abstractmethod
    def entities_from_tags(self, page: Page, tags: Sequence[str | None], sure: Sequence[float]) -> tuple[Entity, ...]:
        """See `layoutray.tasks.Task`."""


def _named(chosen: NDArray[np.integer], labels: Sequence[str]) -> list[str]:
    numbers: list[int] = chosen.tolist()
    return [labels[number] for number in numbers]


class TokenClassificationHead(nn.Module):
    """Dropout and one linear layer."""

    def __init__(self, width: int, num_labels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(width, num_labels)

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch kept labels"]:
        return self.classifier(self.dropout(encoded.states))

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        logits = self(encoded).float()
        return functional.cross_entropy(
            logits.flatten(0, 1), targets_of(encoded, batch).flatten(), ignore_index=IGNORED, reduction="sum"
        )


@dataclass(frozen=True, slots=True, eq=False)
class WindowLabels:
    """True label and logits of each word that starts in one window.

    Attributes:
        words: numbers of the words within the page.
        areas: of the words' boxes, in millionths of the page.
        gold: numbers of the true labels.
        scores: (words, labels) logits.
        kept: whether the architecture kept the word's token; the logits of dropped ones are not the model's.
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
    """The windows of each page as one, whatever order they come in; of a word cut by a border its start stays."""
    pages: dict[tuple[str, int], list[WindowLabels]] = defaultdict(list)
    for seen in sorted(observations, key=lambda seen: (seen.doc_id, seen.page, seen.window)):
        pages[seen.doc_id, seen.page].append(seen)
    for (doc_id, page), windows in pages.items():
        words, first = np.unique(np.concatenate([seen.words for seen in windows]), return_index=True)
        columns = ("areas", "gold", "scores", "kept")
        yield WindowLabels(
            doc_id,
            page,
            0,
            words,
            *(np.concatenate([getattr(seen, name) for seen in windows])[first] for name in columns),
        )


def _word_shares(page: Page, outputs: Sequence[tuple[Example, Tensor]], num_labels: int) -> NDArray[np.float32]:
    """Probabilities (words, labels) of a page's words, each read where it starts; words in no window have the first label, for certain.

    Args:
        outputs: windows of the page in order, each with its tokens' probabilities (length, labels).
    """
    shares = np.zeros((len(page.words), num_labels), np.float32)
    shares[:, 0] = 1.0
    # Backwards, so that of a word cut by a border its start stays.
    for example, probabilities in reversed(outputs):
        starts = np.flatnonzero(first_pieces(example.word_index))
        shares[example.word_index[starts]] = probabilities.numpy()[starts]
    return shares


def _window_labels(example: Example, scores: NDArray[np.float32], origin: NDArray[np.int64]) -> WindowLabels:
    assert example.labels is not None
    ordered = np.zeros((len(example.input_ids), scores.shape[1]), np.float32)
    ordered[:, 0] = _CERTAIN
    ordered[origin] = scores
    kept = np.isin(np.arange(len(ordered)), origin)
    starts = np.flatnonzero(first_pieces(example.word_index) & (example.labels != IGNORED))
    x0, y0, x1, y1 = example.boxes[starts].T
    return WindowLabels(
        example.doc_id,
        example.page,
        example.window,
        words=example.word_index[starts],
        areas=(x1 - x0) * (y1 - y0),
        gold=example.labels[starts],
        scores=ordered[starts],
        kept=kept[starts],
    )


def _target(tag: str | None, page: Page, word: int, index: Mapping[str | None, int]) -> int:
    if tag not in index:
        known = ", ".join(label for label in index if label is not None)
        wrong = (
            "has no tag; this task needs a labelled set" if tag is None else f"has tag {tag}; the model knows {known}"
        )
        raise DocumentError(
            Reason.BAD_ANNOTATION,
            f"word {word} ({page.words[word].text!r}) on page {page.number} of {page.source} {wrong}",
            stage="encode",
        )
    return index[tag]
