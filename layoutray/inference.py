"""A trained model that tags words: pages in, entities out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from layoutray import checkpoint, devices
from layoutray.answers import Answer, Entity, FieldAnswer, PageAnswer
from layoutray.batching.collate import collate
from layoutray.batching.examples import Example, unlabelled
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.document.field_type import FieldType
from layoutray.document.tags import kind_of
from layoutray.errors import CheckpointError
from layoutray.tasks import TagsWords, fields_of
from layoutray.tasks.field_answers import field_answers
from layoutray.tensors import Encoded

_WINDOWS_PER_PASS = 16
"""Bounds the memory of one forward pass, whatever the length of the documents."""


class Extractor:
    """A checkpoint that answers pages. Not thread safe: use one per process or actor.

    Raises:
        CheckpointError: when the model labels no words: it was only pretrained, or it generates text.
    """

    def __init__(self, loaded: Checkpoint, model_id: str, device: torch.device) -> None:
        task = loaded.recipe.task
        if not (isinstance(task, TagsWords) and loaded.labels):
            raise CheckpointError(
                f"{model_id} is a model of task {task.name}, which finds no entities; "
                "fine-tune a model for a task such as entities with `layoutray finetune` and use that checkpoint"
            )
        self._checkpoint = loaded
        self._model = loaded.model.to(device)
        self._device = device
        self._task = task
        self.model_id = model_id
        self.model_version = loaded.version

    @classmethod
    def load(cls, folder: str | Path, device: torch.device | None = None) -> "Extractor":
        """The extractor in a checkpoint folder, on `device`; by default on the first visible GPU, else the CPU.

        Raises:
            CheckpointError: when the folder holds no checkpoint, or one whose model finds no entities.
        """
        loaded = checkpoint.load(folder)
        return cls(loaded, loaded.recipe.name, devices.first_visible() if device is None else device)

    @property
    def entity_types(self) -> tuple[str, ...]:
        """Types of the entities that this model finds, sorted."""
        return entity_types(self._checkpoint.labels)

    @property
    def fields(self) -> Mapping[str, FieldType]:
        """The document fields that this model answers, by name; empty when its recipe names none."""
        return fields_of(self._task)

    def extract(self, pages: Sequence[Page]) -> list[tuple[Entity, ...]]:
        """Entities of each page, in the order of `pages`; windows of different pages share forward passes."""
        tokenizer, max_length = self._checkpoint.tokenizer, self._checkpoint.recipe.max_length
        examples = [
            (row, example) for row, page in enumerate(pages) for example in unlabelled(page, tokenizer, max_length)
        ]
        outputs: list[list[tuple[Example, Tensor]]] = [[] for _ in pages]
        for start in range(0, len(examples), _WINDOWS_PER_PASS):
            chunk = examples[start : start + _WINDOWS_PER_PASS]
            probabilities = self._probabilities([example for _, example in chunk])
            for (row, example), of_tokens in zip(chunk, probabilities, strict=True):
                outputs[row].append((example, of_tokens))
        return [
            self._task.answer(page, windows, self._checkpoint.labels)
            for page, windows in zip(pages, outputs, strict=True)
        ]

    def answers(self, pages: Sequence[Page]) -> list[Answer]:
        """One answer per page, in the order of `pages`."""
        return [
            Answer(
                doc_id=page.doc_id,
                source=page.source,
                model_id=self.model_id,
                model_version=self.model_version,
                status="success",
                entities=entities,
                pages=(PageAnswer(page.number, page.width, page.height, len(page.words)),),
            )
            for page, entities in zip(pages, self.extract(pages), strict=True)
        ]

    def answer_fields(self, pages: Sequence[Page]) -> tuple[FieldAnswer, ...]:
        """The field values of one document, from all its pages; empty when the model answers no fields."""
        return field_answers((entity for entities in self.extract(pages) for entity in entities), self.fields)

    @torch.inference_mode()
    def _probabilities(self, examples: Sequence[Example]) -> list[Tensor]:
        batch = collate(examples, self._checkpoint.tokenizer.pad_id).to(self._device)
        return token_probabilities(*self._model.scores(batch), examples, self._checkpoint.temperature)


def entity_types(labels: Sequence[str]) -> tuple[str, ...]:
    """The entity types that a model's labels stand for, sorted."""
    return tuple(sorted({kind_of(label) for label in labels if label != "O"}))


def token_probabilities(
    encoded: Encoded, logits: Float[Tensor, "batch kept labels"], examples: Sequence[Example], temperature: float
) -> list[Float[Tensor, "length labels"]]:
    """Label probabilities of each example's tokens, in input order: softmax of `logits` / `temperature`, on the CPU.

    A token that the architecture has dropped has the first label with probability 1: it is part of no entity.
    """
    kept = functional.softmax(logits.float() / temperature, -1).cpu()
    origin, real = encoded.origin.cpu(), encoded.mask.cpu()
    return [
        _in_input_order(kept[row, real[row]], origin[row, real[row]], len(example.input_ids))
        for row, example in enumerate(examples)
    ]


def _in_input_order(kept: Tensor, origin: Tensor, length: int) -> Tensor:
    ordered = torch.zeros(length, kept.shape[-1])
    ordered[:, 0] = 1.0
    ordered[origin] = kept
    return ordered
