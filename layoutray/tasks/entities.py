"""Find entities: one IOB2 tag per word, read at the word's first token."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.answers import Entity, Region
from layoutray.batching.collate import IGNORED
from layoutray.batching.examples import Example
from layoutray.batching.windows import Window, first_pieces
from layoutray.document import Box, Page, Word
from layoutray.document.tags import spans, split_tag
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.metrics.entity_f1 import entity_f1
from layoutray.tasks import Corruption, TaskModel, targets_of
from layoutray.tensors import Batch, Encoded, Encoder
from layoutray.tokenizer import Tokenizer


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
class _Tagged:
    """Gold and predicted label of each word that starts in one window."""

    doc_id: str
    page: int
    window: int
    words: tuple[int, ...]
    gold: tuple[int, ...]
    predicted: tuple[int, ...]


class Entities:
    """See the module's docstring."""

    name = "entities"
    objective: tuple[str, Literal["min", "max"]] = ("f1", "max")

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        types = sorted({split_tag(tag)[1] for page in tags for tag in page} - {""})
        if not types:
            raise InputError("no page carries entity tags; ingest a labelled set, or choose task masked_lm")
        return "O", *(f"{prefix}-{kind}" for kind in types for prefix in "BI")

    def targets(self, page: Page, window: Window, labels: Sequence[str]) -> list[int] | None:
        index = {label: number for number, label in enumerate(labels)}
        first = first_pieces(window.word_index)
        return [
            _target(page, word, index) if starts else IGNORED
            for word, starts in zip(window.word_index.tolist(), first.tolist(), strict=True)
        ]

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        return TokenClassificationHead(encoder.width, num_labels, dropout)

    def corruption(self, tokenizer: Tokenizer, mask_share: float) -> Corruption:
        return _unchanged

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list[_Tagged]:
        encoded, logits = model.scores(batch)
        best, origin = logits.argmax(-1).cpu().numpy(), encoded.origin.cpu().numpy()
        return [_tagged(example, best[row], origin[row]) for row, example in enumerate(examples)]

    def summarise(self, observations: Sequence[_Tagged], labels: Sequence[str]) -> dict[str, float]:
        """seqeval's scores, flat: `f1` and the like are micro, `f1.question` of one type."""
        gold, predicted = word_tags(observations, labels)
        flat: dict[str, float] = {}
        for kind, score in entity_f1(gold, predicted).items():
            suffix = "" if kind == "micro" else f".{kind}"
            flat |= {f"precision{suffix}": score.precision, f"recall{suffix}": score.recall, f"f1{suffix}": score.f1}
            flat[f"support{suffix}"] = float(score.support)
        return flat

    def answer(self, page: Page, outputs: Sequence[tuple[Example, Tensor]], labels: Sequence[str]) -> tuple[Entity, ...]:
        best = [0] * len(page.words)
        sure = [1.0] * len(page.words)
        seen: set[int] = set()
        for example, probabilities in outputs:
            top, label = probabilities.max(-1)
            for token in np.flatnonzero(first_pieces(example.word_index)).tolist():
                word = int(example.word_index[token])
                if word not in seen:
                    seen.add(word)
                    best[word], sure[word] = int(label[token]), float(top[token])
        return tagged_entities(page, [labels[label] for label in best], sure)


def tagged_entities(page: Page, tags: Sequence[str], sure: Sequence[float]) -> tuple[Entity, ...]:
    """The entities that IOB2 `tags` mark on `page`; `sure` has the probability of each. One tag and one number a word."""
    return tuple(_entity(page, kind, range(start, end), sure[start:end]) for kind, start, end in spans(tags))


def word_tags(observations: Sequence[_Tagged], labels: Sequence[str]) -> tuple[list[list[str]], list[list[str]]]:
    """Gold and predicted tags per page, from its windows in any order; a word cut by a border counts once, at its start."""
    pages: dict[tuple[str, int], dict[int, tuple[int, int]]] = defaultdict(dict)
    for seen in sorted(observations, key=lambda seen: (seen.doc_id, seen.page, seen.window)):
        for word, gold, predicted in zip(seen.words, seen.gold, seen.predicted, strict=True):
            pages[seen.doc_id, seen.page].setdefault(word, (gold, predicted))
    rows = [[pair for _, pair in sorted(words.items())] for words in pages.values()]
    return [[labels[gold] for gold, _ in row] for row in rows], [[labels[best] for _, best in row] for row in rows]


def _tagged(example: Example, best: np.ndarray, origin: np.ndarray) -> _Tagged:
    assert example.labels is not None
    predicted = np.zeros(len(example.input_ids), np.int64)
    kept = origin < len(predicted)
    predicted[origin[kept]] = best[kept]
    starts = np.flatnonzero(first_pieces(example.word_index) & (example.labels != IGNORED))
    return _Tagged(
        example.doc_id,
        example.page,
        example.window,
        tuple(example.word_index[starts].tolist()),
        tuple(example.labels[starts].tolist()),
        tuple(predicted[starts].tolist()),
    )


def _target(page: Page, word: int, index: Mapping[str, int]) -> int:
    tag = page.words[word].tag
    if tag is None:
        raise DocumentError(
            Reason.BAD_ANNOTATION,
            f"word {word} ({page.words[word].text!r}) on page {page.number} of {page.source} has no tag; entities need a labelled set",
            stage="encode",
        )
    if tag not in index:
        raise DocumentError(
            Reason.BAD_ANNOTATION,
            f"word {word} ({page.words[word].text!r}) on page {page.number} of {page.source} has tag {tag}; "
            f"the model knows {', '.join(index)}",
            stage="encode",
        )
    return index[tag]


def _entity(page: Page, kind: str, words: range, sure: Sequence[float]) -> Entity:
    chosen = [page.words[word] for word in words]
    lines: dict[int, list[Word]] = defaultdict(list)
    for word in chosen:
        lines[word.line].append(word)
    regions = tuple(Region(page.number, Box.around(word.box for word in line).polygon(page.width, page.height)) for line in lines.values())
    confidence = math.exp(math.fsum(math.log(max(share, 1e-12)) for share in sure) / len(sure))
    return Entity(kind, " ".join(word.text for word in chosen), confidence, regions, tuple(words))


def _unchanged(batch: Batch, generator: torch.Generator) -> Batch:
    return batch


TASK = Entities()
