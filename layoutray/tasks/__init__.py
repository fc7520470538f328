"""What a model is trained for. A task is a module here that ends in `TASK`.

A task meets a model in two places: its head turns encoded states into a loss or into scores, and `observe`/`summarise`
turn those into metrics: observations are made batch by batch on any worker and summed up once. Most tasks are of pages, in windows;
those with a decoder are of whole documents, and most of these learn to write what somebody has written about them (`Writes`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from layoutray import registry
from layoutray.answers import Entity
from layoutray.architectures import check_ranges
from layoutray.batching.examples import Example
from layoutray.batching.windows import Window
from layoutray.document import Document, Page
from layoutray.document.field_type import FieldType
from layoutray.errors import InputError
from layoutray.nn.decoder import DecoderConfig
from layoutray.tensors import Batch, Encoded, Encoder
from layoutray.tokenizer import Tokenizer

Certainties = tuple[NDArray[np.float64], NDArray[np.bool_]]
"""Confidences, 0..1, and whether each of these answers is right."""
Corruption = Callable[[Batch, torch.Generator], Batch]
"""Turns a collated batch into what the model sees, with its targets."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How a text is written.

    Attributes:
        max_length: tokens of the longest text, its end not counted; longer ones are cut in training, and counted.
        min_length: tokens of the shortest text that a trained model writes.
        no_repeat: no so many tokens in a row are written twice (3 keeps small models from going round in circles); 0 allows it.
        label_smoothing: in training, the share of each target that all words of the vocabulary have in equal parts.
        decoder: what writes.
        begin: the special token that writing begins with; fairseq's models begin with that of the `end`.
    """

    max_length: int = 128
    min_length: int = 0
    no_repeat: int = 0
    label_smoothing: float = 0.0
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    begin: Literal["start", "end"] = "start"

    def __post_init__(self) -> None:
        for part in (self, self.decoder):
            check_ranges(part, smallest={"min_length": 0, "no_repeat": 0})
        if self.min_length > self.max_length:
            raise InputError(
                f"min_length is {self.min_length}; it must be at most max_length, which is {self.max_length}"
            )


class Head(Protocol):
    """What stands on top of an encoder."""

    def __call__(self, encoded: Encoded) -> Float[Tensor, "batch kept labels"]: ...

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        """Cross-entropy summed over the targets of `batch`; the caller divides by their number."""
        ...


@runtime_checkable
class PartHead(Protocol):
    """What learns from another part of an encoder than its states, which then need not be made."""

    def loss_of(self, encoder: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """As of `Head`."""
        ...


class TaskModel(nn.Module):
    """An encoder with a head; the forward pass gives the summed loss, so that wrappers (DDP) see one call.

    Raises:
        InputError: for windows longer than the encoder takes.
    """

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        if isinstance(self.head, PartHead):
            return self.head.loss_of(self.encoder, batch)
        return cast(Head, self.head).loss(self.encoded(batch), batch)

    def scores(self, batch: Batch) -> tuple[Encoded, Float[Tensor, "batch kept labels"]]:
        """Encoded states, and the head's logits for each."""
        encoded = self.encoded(batch)
        return encoded, self.head(encoded)

    def encoded(self, batch: Batch) -> Encoded:
        """The encoder's states."""
        length, longest = batch.input_ids.shape[1], cast(Encoder, self.encoder).max_length
        if length > longest:
            raise InputError(
                f"a window has {length} tokens, the model takes {longest}; cut pages into windows of at most max_length tokens"
            )
        return self.encoder(batch)


class Task(Protocol):
    """See the module's docstring."""

    name: str
    of_documents: bool
    """Whether an example is a whole document, and not a window of a page."""
    objective: tuple[str, Literal["min", "max"]]
    """The metric that chooses the best checkpoint, and which way is better."""

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        """Labels in the order of the model's outputs, from the word tags of all pages; empty for tasks without."""
        ...

    def targets(self, page: Page, window: Window, labels: Sequence[str]) -> list[int] | None:
        """Target per token of `window`, -100 where none; None when the task makes its own targets.

        Raises:
            DocumentError: (bad_annotation) when the page has no truth for this task.
        """
        ...

    def head(self, encoder: Encoder, num_labels: int, dropout: float, writing: Writing) -> nn.Module: ...

    def corruption(self, tokenizer: Tokenizer, mask_share: float) -> Corruption: ...

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list[Any]:
        """What `summarise` needs to know of this batch; plain data."""
        ...

    def summarise(self, observations: Sequence[Any], labels: Sequence[str]) -> dict[str, float]:
        """Metrics over all observations; their order does not matter."""
        ...

    def confusion(self, observations: Sequence[Any], labels: Sequence[str]) -> Counter[tuple[str, str]]:
        """Words by (true type, predicted type); empty for tasks that label no words."""
        ...

    def temperature(self, observations: Sequence[Any]) -> float:
        """What logits are to be divided by, so that probabilities suit these observations best; 1 for tasks that label no words."""
        ...

    def certainties(self, observations: Sequence[Any], labels: Sequence[str], temperature: float) -> Certainties:
        """How sure the model is of each word's label, and whether it is right; empty for tasks that label no words."""
        ...

    def answer(
        self, page: Page, outputs: Sequence[tuple[Example, Tensor]], labels: Sequence[str]
    ) -> tuple[Entity, ...]:
        """Entities of a page from its windows and their probabilities (length, labels).

        Raises:
            InputError: for tasks that answer nothing.
        """
        ...

    def entities_from_tags(self, page: Page, tags: Sequence[str | None], sure: Sequence[float]) -> tuple[Entity, ...]:
        """What `tags` mark on `page`, found or true: one tag a word, None where it is in nothing; `sure` has the probability of each.

        Raises:
            InputError: for tasks that answer nothing.
        """
        ...


@runtime_checkable
class Writes(Protocol):
    """A task whose model reads a document and writes a text; its head has a `decoder`."""

    def text(self, document: Document, fields: Mapping[str, FieldType]) -> str:
        """What should be written about `document`; `fields` are those that the recipe names.

        Raises:
            DocumentError: (bad_annotation) when nobody has.
        """
        ...


def load(name: str) -> Task:
    """The task called `name`."""
    return cast(Task, registry.load(__name__, "TASK", name))


def unchanged(batch: Batch, generator: torch.Generator) -> Batch:
    """The corruption of tasks whose targets come with the data: the model sees everything."""
    return batch


def targets_of(encoded: Encoded, batch: Batch) -> Tensor:
    """Labels of the tokens that the states stand for (batch, kept); -100 on padding."""
    assert batch.labels is not None, "a loss needs a batch with labels"
    return batch.labels.gather(1, encoded.origin).masked_fill(~encoded.mask, -100)
