"""A trained model that tags words: pages in, entities out."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from layoutray import checkpoint, devices
from layoutray.batching.collate import collate
from layoutray.batching.examples import Example, unlabelled
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.document.answers import Answer, Entity, FieldAnswer, Found, PageAnswer, Record
from layoutray.document.field_type import FieldType
from layoutray.document.form_answers import form_entities, left_to_model
from layoutray.document.mark import labelled_marks
from layoutray.document.record_type import RecordType
from layoutray.document.signature import signatures
from layoutray.document.tags import kind_of
from layoutray.document.word_graph import FindNeighbours
from layoutray.document.word_source import WordSource, other_words, word_sources
from layoutray.errors import CheckpointError
from layoutray.inference import interruption
from layoutray.tasks import LabelsPages, ReadsNames, TagsWords, document_fields_of, records_of
from layoutray.tasks.field_answers import field_answers
from layoutray.tasks.record_columns import with_columns
from layoutray.tasks.records import find_records
from layoutray.tensors import Encoded
from layoutray.tokenizer import Tokenizer

_TOKENS_PER_PASS = {"cpu": 0, "cuda": 32768}
"""Tokens of one forward pass of several windows by device, padding included. They bound its memory. A CPU is fastest
with one window at a time, which needs no padding; its answers then do not depend on the other windows either."""


@dataclass(frozen=True, kw_only=True)
class Tagging:
    """All parts of an extractor but its model: from pages to windows, and from label probabilities to entities.

    Attributes:
        labels: names of the model's outputs, in order.
        tokenizer: cuts words into tokens.
        max_length: tokens of a window, at most.
        find_neighbours: makes the word graph of a window.
        learnt: how the words were made of which the model has learnt; empty if unknown.
    """

    task: TagsWords
    labels: tuple[str, ...]
    tokenizer: Tokenizer
    max_length: int
    find_neighbours: FindNeighbours
    learnt: tuple[WordSource, ...] = ()

    @classmethod
    def of(cls, loaded: Checkpoint) -> Self:
        """The tagging of a checkpoint.

        Raises:
            CheckpointError: when the model labels no words: it was only pretrained, or it generates text; and when it
                answers fields whose names are not given.
        """
        task = loaded.recipe.task
        if isinstance(task, ReadsNames):
            raise CheckpointError(
                f"{loaded.recipe.name} answers the fields that you name; use `layoutray answer`, or the parameter "
                "`fields` of the endpoint, or fine-tune it with `layoutray finetune --init`"
            )
        if not (isinstance(task, TagsWords) and loaded.labels):
            raise CheckpointError(
                f"{loaded.recipe.name} is a model of task {task.name}, which finds no entities; "
                "fine-tune a model for a task such as entities with `layoutray finetune` and use that checkpoint"
            )
        recipe = loaded.recipe
        return cls(
            task=task,
            labels=loaded.labels,
            tokenizer=loaded.tokenizer,
            max_length=recipe.max_length,
            find_neighbours=recipe.find_neighbours,
            learnt=loaded.learnt,
        )

    @property
    def fields(self) -> Mapping[str, FieldType]:
        """The document fields that the model answers, by name; empty when its recipe names none."""
        return document_fields_of(self.task)

    @property
    def records(self) -> Mapping[str, RecordType]:
        """The records that the model answers, by name; empty when its recipe names none."""
        return records_of(self.task)

    def windows(self, pages: Iterable[Page]) -> list[list[Example]]:
        """The windows of each page; none of a page whose form fields state all that is to be answered."""
        windows: list[list[Example]] = []
        for page in map(self._left_to_model, pages):
            interruption.check()
            page = self.task.read(page) if isinstance(self.task, LabelsPages) else page  # noqa: PLW2901
            windows.append(unlabelled(page, self.tokenizer, self.max_length, self.find_neighbours))
        return windows

    def found(
        self, pages: Sequence[Page], windows: Sequence[Sequence[Example]], probabilities: Iterable[Tensor]
    ) -> list[Found]:
        """Entities of each page: those of its form fields, of the model, and marks and signatures by their labels.

        Args:
            windows: of each page.
            probabilities: label probabilities (length, labels) of each window; those of all pages in one sequence.
        """
        following = iter(probabilities)
        signed = {name for name, kind in self.fields.items() if kind.type == "signature"}
        found: list[Found] = []
        for page, of_page in zip(pages, windows, strict=True):
            left = self._left_to_model(page)
            outputs = [(window, next(following)) for window in of_page]
            read = self.task.answer(left, outputs, self.labels)
            entities = (
                *form_entities(page, self.fields),
                *(one for one in read if one.type not in signed),
                *labelled_marks(left, self.fields),
                *signatures(left, self.fields),
            )
            found.append(Found(entities, self.task.candidates(left, outputs, self.labels, entities)))
        return found

    def _left_to_model(self, page: Page) -> Page:
        return page if self.records else left_to_model(page, self.fields)


@dataclass(frozen=True, slots=True)
class WindowOutput:
    """What a model computes for one window, on the CPU.

    Attributes:
        probabilities: of the labels of each token, in input order.
        state: mean of the encoder's states.
    """

    probabilities: Float[Tensor, "length labels"]
    state: Float[Tensor, " width"]


class Extractor:
    """A checkpoint that answers pages. Not thread safe: use one per process or actor.

    Args:
        version: as answers state it; empty: the checkpoint's own.

    Raises:
        CheckpointError: as `Tagging.of`.
    """

    def __init__(self, loaded: Checkpoint, model_id: str, device: torch.device, version: str = "") -> None:
        self.tagging = Tagging.of(loaded)
        self._temperature = loaded.temperature
        self._model = loaded.model.to(device)
        self.device = device
        self.model_id = model_id
        self.model_version = version or loaded.version

    @classmethod
    def load(cls, folder: str | Path, device: torch.device | None = None, version: str = "") -> "Extractor":
        """The extractor in a checkpoint folder, on `device`; by default on the first visible GPU, else the CPU.

        Args:
            version: as answers state it; empty: the checkpoint's own.

        Raises:
            CheckpointError: when the folder holds no checkpoint, or one whose model finds no entities.
        """
        loaded = checkpoint.load(folder)
        return cls(loaded, loaded.recipe.name, devices.first_visible() if device is None else device, version)

    @property
    def entity_types(self) -> tuple[str, ...]:
        """Types of the entities that this model finds, sorted."""
        return entity_types(self.tagging.labels)

    @property
    def fields(self) -> Mapping[str, FieldType]:
        """The document fields that this model answers, by name; empty when its recipe names none."""
        return self.tagging.fields

    @property
    def records(self) -> Mapping[str, RecordType]:
        """The records that this model answers, by name; empty when its recipe names none."""
        return self.tagging.records

    def asking(self, fields: Mapping[str, FieldType]) -> "Extractor":
        """The extractor that answers `fields`: this one, unless the model answers fields by their names."""
        del fields
        return self

    def read(self, pages: Sequence[Page]) -> list[Found]:
        """What is found on each page, in the order of `pages`; windows of different pages share forward passes."""
        windows = self.tagging.windows(pages)
        return self.tagging.found(pages, windows, self.probabilities(windows))

    def extract(self, pages: Sequence[Page]) -> list[tuple[Entity, ...]]:
        """The entities that `read` finds."""
        return [one.entities for one in self.read(pages)]

    def answers(self, pages: Sequence[Page]) -> list[Answer]:
        """One answer per page, in the order of `pages`."""
        model = (self.model_id, self.model_version)
        return page_answers(pages, self.read(pages), model, self.records, self.tagging.learnt)

    def answer_fields(self, pages: Sequence[Page]) -> tuple[FieldAnswer, ...]:
        """The field values of one document, from all its pages; empty when the model answers no fields."""
        return field_answers((entity for entities in self.extract(pages) for entity in entities), self.fields)

    def probabilities(self, windows: Iterable[Sequence[Example]]) -> list[Tensor]:
        """Label probabilities (length, labels) of all windows, see `outputs`."""
        return [output.probabilities for output in self.outputs(windows)]

    def outputs(self, windows: Iterable[Sequence[Example]]) -> list[WindowOutput]:
        """What the model computes for all windows, in one sequence.

        Windows of similar length share a forward pass, so that little of a batch is padding.

        Args:
            windows: of each page.
        """
        examples = [example for of_page in windows for example in of_page]
        lengths = [len(example.input_ids) for example in examples]
        found: dict[int, WindowOutput] = {}
        for numbers in batches_by_length(lengths, _TOKENS_PER_PASS[self.device.type]):
            interruption.check()
            found |= zip(numbers, self._of_batch([examples[number] for number in numbers]), strict=True)
        return [found[number] for number in range(len(examples))]

    @torch.inference_mode()
    def _of_batch(self, examples: Sequence[Example]) -> list[WindowOutput]:
        batch = collate(examples, self.tagging.tokenizer.pad_id).to(self.device)
        with devices.answering(self.device):
            encoded, logits = self._model.scores(batch)
        probabilities = token_probabilities(encoded, logits, examples, self._temperature)
        real = encoded.mask[..., None]
        states = (encoded.states.float().where(real, 0.0).sum(1) / real.sum(1)).cpu()
        return [WindowOutput(*one) for one in zip(probabilities, states, strict=True)]


def batches_by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Batches of windows of similar length, longest first. Each window is in one batch.

    Args:
        lengths: number of tokens of each window.
        budget: largest number of tokens of a batch, with all windows padded to the longest. A longer window is alone.

    Yields:
        The indices of a batch's windows.
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def page_answers(
    pages: Sequence[Page],
    found: Sequence[Found],
    model: tuple[str, str],
    records: Mapping[str, RecordType],
    learnt: Sequence[WordSource] = (),
) -> list[Answer]:
    """One answer per page, with the page's entities and the records of the types `records` that they form.

    The pages of a document that are given together are read together. A record that goes on on the next page is in the
    answers of both, with the same page number and row: each has the record's entities on its page.

    Args:
        model: id and version of the model that has found the entities.
        learnt: how the words were made of which it has learnt; empty if unknown.
    """
    documents: dict[str | int, list[int]] = defaultdict(list)
    for place, page in enumerate(pages):
        documents[page.doc_id or place].append(place)
    answers: dict[int, Answer] = {}
    for places in documents.values():
        places.sort(key=lambda place: pages[place].number)
        of_document = [pages[place] for place in places]
        in_columns = with_columns(of_document, [found[place].entities for place in places], records)
        joined = find_records(of_document, in_columns, records)
        for place, page, entities in zip(places, of_document, in_columns, strict=True):
            answers[place] = Answer(
                doc_id=page.doc_id,
                source=page.source,
                model_id=model[0],
                model_version=model[1],
                status="success",
                entities=entities,
                candidates=found[place].candidates,
                pages=(
                    PageAnswer(
                        page_number=page.number, width=page.width, height=page.height, num_words=len(page.words)
                    ),
                ),
                records=tuple(_on_page(joined, page.number)),
                warnings=other_words(word_sources([page]), learnt),
            )
    return [answers[place] for place in range(len(pages))]


def _on_page(records: Iterable[Record], number: int) -> Iterator[Record]:
    """The parts of records that are on a page."""
    for record in records:
        fields = tuple(one for one in record.fields if one.bounding_regions[0].page_number == number)
        if fields:
            yield replace(record, fields=fields)


def entity_types(labels: Sequence[str]) -> tuple[str, ...]:
    """The entity types that a model's labels stand for, sorted."""
    return tuple(sorted({kind_of(label) for label in labels if label != "O"}))


def token_probabilities(
    encoded: Encoded, logits: Float[Tensor, "batch kept labels"], examples: Sequence[Example], temperature: float
) -> list[Float[Tensor, "length labels"]]:
    """Label probabilities of each example's tokens, in input order: softmax of `logits` / `temperature`, on the CPU.

    A token that the architecture has dropped has the first label with probability 1: it is part of no entity.
    """
    probabilities = functional.softmax(logits.float() / temperature, -1)
    lengths = [len(example.input_ids) for example in examples]
    ordered = encoded.in_input_order(probabilities, max(lengths), 1.0).cpu()
    return [of_window[:length] for of_window, length in zip(ordered, lengths, strict=True)]
