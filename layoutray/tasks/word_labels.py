"""What tasks share that give each word one label, read at the word's first token."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from layoutray.answers import Entity
from layoutray.batching.collate import IGNORED
from layoutray.batching.examples import Example
from layoutray.batching.windows import Window, first_pieces
from layoutray.document import Page
from layoutray.document.tags import OUTSIDE
from layoutray.errors import DocumentError, Reason
from layoutray.tasks import Corruption, TaskModel, targets_of
from layoutray.tensors import Batch, Encoded, Encoder
from layoutray.tokenizer import Tokenizer


class WordLabelling(ABC):
    """The part of such a task that does not depend on what its labels mean."""

    def targets(self, page: Page, window: Window, labels: Sequence[str]) -> list[int] | None:
        return targets(page, window, labels)

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        return TokenClassificationHead(encoder.width, num_labels, dropout)

    def corruption(self, tokenizer: Tokenizer, mask_share: float) -> Corruption:
        return _unchanged

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list["WindowLabels"]:
        return observe(model, batch, examples)

    def answer(self, page: Page, outputs: Sequence[tuple[Example, Tensor]], labels: Sequence[str]) -> tuple[Entity, ...]:
        return self.marked(page, *best_labels(page, outputs, labels))

    @abstractmethod
    def marked(self, page: Page, tags: Sequence[str | None], sure: Sequence[float]) -> tuple[Entity, ...]:
        """See `layoutray.tasks.Task`."""


def _unchanged(batch: Batch, generator: torch.Generator) -> Batch:
    """Targets come with the data, and the model sees everything."""
    return batch


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
        return functional.cross_entropy(logits.flatten(0, 1), targets_of(encoded, batch).flatten(), ignore_index=IGNORED, reduction="sum")


@dataclass(frozen=True, slots=True)
class WindowLabels:
    """Gold and predicted label of each word that starts in one window.

    Attributes:
        areas: of the words' boxes, in millionths of the page.
    """

    doc_id: str
    page: int
    window: int
    words: tuple[int, ...]
    areas: tuple[int, ...]
    gold: tuple[int, ...]
    predicted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PageLabels:
    """The same of a whole page, each word once, in reading order."""

    areas: list[int]
    gold: list[str]
    predicted: list[str]


def targets(page: Page, window: Window, labels: Sequence[str]) -> list[int]:
    """The number of each word's tag at its first token, -100 at all others.

    Regions need not cover a page: of their labels, a word without a tag has no target where other words of the page have one.

    Raises:
        DocumentError: (bad_annotation) when a word has a tag that `labels` lack, or has none and `labels` are IOB2 or no word
            of the page has one.
    """
    index: dict[str | None, int] = {label: number for number, label in enumerate(labels)}
    if OUTSIDE not in index and any(word.tag is not None for word in page.words):
        index[None] = IGNORED
    first = first_pieces(window.word_index)
    return [
        _target(page, word, index) if starts else IGNORED for word, starts in zip(window.word_index.tolist(), first.tolist(), strict=True)
    ]


def observe(model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list[WindowLabels]:
    """The most likely label of each word of a batch, beside its true one."""
    encoded, logits = model.scores(batch)
    best, origin, real = (part.cpu().numpy() for part in (logits.argmax(-1), encoded.origin, encoded.mask))
    return [_window_labels(example, best[row][real[row]], origin[row][real[row]]) for row, example in enumerate(examples)]


def by_page(observations: Sequence[WindowLabels], labels: Sequence[str]) -> list[PageLabels]:
    """Windows in any order put together; a word cut by a border counts once, at its start."""
    pages: dict[tuple[str, int], dict[int, tuple[int, int, int]]] = defaultdict(dict)
    for seen in sorted(observations, key=lambda seen: (seen.doc_id, seen.page, seen.window)):
        for word, *facts in zip(seen.words, seen.areas, seen.gold, seen.predicted, strict=True):
            pages[seen.doc_id, seen.page].setdefault(word, (facts[0], facts[1], facts[2]))
    rows = [[facts for _, facts in sorted(words.items())] for words in pages.values()]
    return [
        PageLabels([area for area, _, _ in row], [labels[gold] for _, gold, _ in row], [labels[best] for _, _, best in row]) for row in rows
    ]


def best_labels(page: Page, outputs: Sequence[tuple[Example, Tensor]], labels: Sequence[str]) -> tuple[list[str], list[float]]:
    """The most likely label of each word of a page, and its probability; the first label, for certain, for words in no window.

    Args:
        outputs: windows of the page, each with its tokens' probabilities (length, labels).
    """
    best, sure = [0] * len(page.words), [1.0] * len(page.words)
    seen: set[int] = set()
    for example, probabilities in outputs:
        top, label = probabilities.max(-1)
        for token in np.flatnonzero(first_pieces(example.word_index)).tolist():
            word = int(example.word_index[token])
            if word not in seen:
                seen.add(word)
                best[word], sure[word] = int(label[token]), float(top[token])
    return [labels[number] for number in best], sure


def _window_labels(example: Example, best: NDArray[np.int64], origin: NDArray[np.int64]) -> WindowLabels:
    assert example.labels is not None
    predicted = np.zeros(len(example.input_ids), np.int64)
    predicted[origin] = best
    starts = np.flatnonzero(first_pieces(example.word_index) & (example.labels != IGNORED))
    x0, y0, x1, y1 = example.boxes[starts].astype(np.int64).T
    return WindowLabels(
        example.doc_id,
        example.page,
        example.window,
        words=tuple(example.word_index[starts].tolist()),
        areas=tuple(((x1 - x0) * (y1 - y0)).tolist()),
        gold=tuple(example.labels[starts].tolist()),
        predicted=tuple(predicted[starts].tolist()),
    )


def _target(page: Page, word: int, index: Mapping[str | None, int]) -> int:
    tag = page.words[word].tag
    if tag not in index:
        known = ", ".join(label for label in index if label is not None)
        wrong = "has no tag; this task needs a labelled set" if tag is None else f"has tag {tag}; the model knows {known}"
        raise DocumentError(
            Reason.BAD_ANNOTATION,
            f"word {word} ({page.words[word].text!r}) on page {page.number} of {page.source} {wrong}",
            stage="encode",
        )
    return index[tag]
