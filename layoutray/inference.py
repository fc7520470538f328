"""A trained model that tags words: pages in, entities out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch.nn import functional

from layoutray import checkpoint
from layoutray.answers import Answer, Entity, PageAnswer
from layoutray.batching.collate import collate
from layoutray.batching.examples import Example, unlabelled
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.document.field_type import FieldType
from layoutray.document.tags import kind_of
from layoutray.errors import CheckpointError
from layoutray.tasks import TagsWords, fields_of

_WINDOWS_PER_PASS = 16
"""Bounds the memory of one forward pass, also for long documents."""


class Extractor:
    """Finds entities with a checkpoint's model. Not thread-safe: make one for each process or actor."""

    def __init__(self, loaded: Checkpoint, model_id: str, device: torch.device) -> None:
        """Raises CheckpointError for a model that tags no words: it was only pretrained, or it generates texts."""
        task = loaded.recipe.task
        if not (isinstance(task, TagsWords) and loaded.labels):
            raise CheckpointError(
                f"{model_id} is a model of task {task.name}, which finds no entities; "
                "fine-tune it with `layoutray finetune` for another task, for example entities, and use that checkpoint"
            )
        self._checkpoint = loaded
        self._model = loaded.model.to(device)
        self._device = device
        self._task = task
        self.model_id = model_id
        self.model_version = loaded.version

    @classmethod
    def load(cls, folder: str | Path) -> "Extractor":
        """The model in a checkpoint folder, on the first GPU if there is one.

        Raises:
            CheckpointError: when the folder is not a checkpoint of a model that finds entities.
        """
        loaded = checkpoint.load(folder)
        return cls(loaded, loaded.recipe.name, torch.device("cuda" if torch.cuda.is_available() else "cpu"))

    @property
    def entity_types(self) -> tuple[str, ...]:
        """Types of the entities that this model finds."""
        return tuple(sorted({kind_of(label) for label in self._checkpoint.labels if label != "O"}))

    @property
    def fields(self) -> Mapping[str, FieldType]:
        """The fields of a document that this model answers, by name; empty if its recipe names none."""
        return fields_of(self._task)

    def extract(self, pages: Sequence[Page]) -> list[tuple[Entity, ...]]:
        """Entities of each page, in order. Windows of several pages share a forward pass."""
        vocabulary, max_length = self._checkpoint.tokenizer, self._checkpoint.recipe.max_length
        examples = [
            (row, example) for row, page in enumerate(pages) for example in unlabelled(page, vocabulary, max_length)
        ]
        outputs: list[list[tuple[Example, torch.Tensor]]] = [[] for _ in pages]
        for at in range(0, len(examples), _WINDOWS_PER_PASS):
            chunk = examples[at : at + _WINDOWS_PER_PASS]
            for (row, example), probabilities in zip(
                chunk, self._probabilities([example for _, example in chunk]), strict=True
            ):
                outputs[row].append((example, probabilities))
        return [
            self._task.answer(page, windows, self._checkpoint.labels)
            for page, windows in zip(pages, outputs, strict=True)
        ]

    def answers(self, pages: Sequence[Page]) -> list[Answer]:
        """An answer for each page, in order."""
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

    @torch.inference_mode()
    def _probabilities(self, examples: Sequence[Example]) -> list[torch.Tensor]:
        batch = collate(examples, self._checkpoint.tokenizer.pad_id).to(self._device)
        encoded, logits = self._model.scores(batch)
        shares = functional.softmax(logits.float() / self._checkpoint.temperature, -1).cpu()
        origin, real = encoded.origin.cpu(), encoded.mask.cpu()
        return [
            _in_input_order(shares[row, real[row]], origin[row, real[row]], len(example.input_ids))
            for row, example in enumerate(examples)
        ]


def _in_input_order(shares: torch.Tensor, origin: torch.Tensor, length: int) -> torch.Tensor:
    ordered = torch.zeros(length, shares.shape[-1])
    ordered[:, 0] = 1.0  # a token that the architecture dropped is in no entity
    ordered[origin] = shares
    return ordered
