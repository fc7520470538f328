"""What a model is trained for. A task is a module of this package that ends in the constant `TASK`, a class.

A task is a frozen dataclass. Its fields are the keys of a recipe's section [task]: `name`, which has the module's name
as its default, and the task's own settings. `Task` is what every task has. The other protocols are capabilities; a task
has a capability if it defines the protocol's members. A caller asks with `isinstance(task, TagsWords)`.

A head turns encoded states into a loss or into scores. `observe` reduces each batch to observations, on any worker;
`summarise` turns all observations into metrics, once.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, cast, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from layoutray import registry
from layoutray.architectures import check_ranges
from layoutray.batching.examples import Example
from layoutray.batching.windows import Window
from layoutray.document import Document, Page
from layoutray.document.answers import Candidate, Entity
from layoutray.document.field_type import FieldType
from layoutray.document.record_type import RecordType
from layoutray.errors import InputError
from layoutray.nn.decoder import DecoderConfig
from layoutray.tasks.model import TaskModel
from layoutray.tensors import Batch, Encoder
from layoutray.tokenizer import Tokenizer

Confidences = tuple[NDArray[np.float64], NDArray[np.bool_]]
"""Confidences of answers, 0..1, and whether each answer is correct."""
Corruption = Callable[[Batch, torch.Generator], Batch]
"""Turns a collated batch into the model's input with its targets."""
Objective = tuple[str, Literal["min", "max"]]
"""A metric, and whether lower or higher values are better."""
Outputs = Sequence[tuple[Example, Tensor]]
"""The windows of a page, each with the label probabilities (length, labels) of its tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSettings:
    """How a model generates texts: the recipe's section [task.writing]. docs/recipes.md explains the keys."""

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


@runtime_checkable
class Task(Protocol):
    """What every task has."""

    objective: ClassVar[Objective]
    """The metric that selects the best checkpoint."""
    of_documents: ClassVar[bool]
    """Whether an example is a whole document; otherwise it is a window of a page."""

    @property
    def name(self) -> str:
        """The key `task.name` of recipes."""
        ...

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        """A fresh head: a `Head` or an `EncoderPartHead` of `tasks.model`."""
        ...

    def corruption(self, tokenizer: Tokenizer) -> Corruption: ...

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list[Any]:
        """What `summarise` needs of this batch, as plain data that can be sent between processes."""
        ...

    def summarise(self, observations: Sequence[Any], labels: Sequence[str]) -> dict[str, float]:
        """Metrics over all observations, which may come in any order."""
        ...


@runtime_checkable
class TagsWords(Task, Protocol):
    """A task whose model assigns a label to each word of a page. Its targets come with the data."""

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        """Names of the model's outputs, in their order, from the word tags of all pages.

        Raises:
            InputError: when the pages have no tags for this task.
        """
        ...

    def targets(self, page: Page, window: Window, labels: Sequence[str]) -> list[int]:
        """Target of each token of `window`; -100 for tokens without a target.

        Raises:
            DocumentError: (bad_annotation) when the tags of the page do not fit the task or `labels`.
        """
        ...

    def confusion(self, observations: Sequence[Any], labels: Sequence[str]) -> Counter[tuple[str, str]]:
        """Number of words by (true type, predicted type)."""
        ...

    def temperature(self, observations: Sequence[Any]) -> float:
        """The number that logits are divided by so that probabilities are calibrated on these observations."""
        ...

    def confidences(self, observations: Sequence[Any], labels: Sequence[str], temperature: float) -> Confidences:
        """The confidence of each word's predicted label."""
        ...

    def answer(self, page: Page, outputs: Outputs, labels: Sequence[str]) -> tuple[Entity, ...]:
        """Entities of a page."""
        ...

    def candidates(
        self, page: Page, outputs: Outputs, labels: Sequence[str], found: Sequence[Entity]
    ) -> tuple[Candidate, ...]:
        """What else the values of document fields with one value may be; `found`: the entities of the page."""
        ...

    def entities_from_tags(
        self, page: Page, tags: Sequence[str | None], confidences: Sequence[float]
    ) -> tuple[Entity, ...]:
        """Entities that the tags of a page's words mark, predicted or true.

        Args:
            tags: one for each word; None for a word of no entity.
            confidences: one for each word's tag.
        """
        ...


@runtime_checkable
class HasDecoder(Task, Protocol):
    """A task whose head is a `tasks.text_generation.TextGenerationHead`."""

    @property
    def writing(self) -> GenerationSettings: ...


@runtime_checkable
class WritesTexts(HasDecoder, Protocol):
    """A task whose model reads a document and generates a text."""

    def text(self, document: Document) -> str:
        """The text that the model learns to generate. Raises DocumentError (bad_annotation) when there is none."""
        ...


@runtime_checkable
class AnswersFields(Task, Protocol):
    """A task whose model can answer the fields of a document."""

    @property
    def fields(self) -> Mapping[str, FieldType]:
        """The wanted fields by name; empty when the recipe names none."""
        ...


@runtime_checkable
class FindsRecords(TagsWords, Protocol):
    """A task whose entities form records."""

    @property
    def records(self) -> Mapping[str, RecordType]:
        """The wanted records by name; empty when the recipe names none."""
        ...


@runtime_checkable
class ReadsNames(TagsWords, Protocol):
    """A task whose model finds the fields that it is given the names of."""

    def answering(self, fields: Mapping[str, FieldType]) -> TagsWords:
        """The task of a model whose output layer is that of `output_rows`."""
        ...

    def output_rows(self, model: TaskModel, tokenizer: Tokenizer, names: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Weights (rows, width) and biases of an output layer that finds `names`.

        The rows are those of O and, for each name in turn, of its tags B, I, E and S.
        """
        ...


@runtime_checkable
class LabelsPages(TagsWords, Protocol):
    """A task whose model gives each page one label, which all words of the page have as their tag."""

    def read(self, page: Page) -> Page:
        """The page with the words that the model reads."""
        ...


def load(name: str) -> type[Task]:
    """The class of the task called `name`. Raises InputError for an unknown name."""
    return cast(type[Task], registry.load(__name__, "TASK", name))


def setting_names(task: type[Task]) -> tuple[str, ...]:
    """The keys that a recipe's section [task] may have for `task`."""
    return tuple(one.name for one in dataclasses.fields(cast(Any, task)))


def fields_of(task: Task) -> Mapping[str, FieldType]:
    """The fields that a model of `task` answers, by name; empty when it answers none."""
    return task.fields if isinstance(task, AnswersFields) else {}


def document_fields_of(task: Task) -> Mapping[str, FieldType]:
    """The fields that a model of `task` answers for whole documents: those of `fields_of` that no record has."""
    in_records = {name for record in records_of(task).values() for name in record.fields}
    return {name: kind for name, kind in fields_of(task).items() if name not in in_records}


def records_of(task: Task) -> Mapping[str, RecordType]:
    """The records that a model of `task` answers, by name; empty when it answers none."""
    return task.records if isinstance(task, FindsRecords) else {}


def no_corruption(batch: Batch, generator: torch.Generator) -> Batch:
    """The corruption of tasks whose targets come with the data."""
    return batch
