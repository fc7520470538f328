"""Extractors from a model that answers fields by their names (task `fields_by_name`)."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import nn

from layoutray.checkpoint import Checkpoint
from layoutray.document.field_type import FieldType
from layoutray.errors import CheckpointError
from layoutray.inference.extractor import Extractor
from layoutray.tasks import ReadsNames
from layoutray.tasks.field_names import check_names
from layoutray.tasks.model import TaskModel
from layoutray.tasks.word_labels import TokenClassificationHead

_QUESTIONS = 64
"""Lists of fields whose output layers are kept."""


def named(loaded: Checkpoint, fields: Mapping[str, FieldType]) -> Checkpoint:
    """A checkpoint of task `entities_bioes` that answers `fields`; its output layer is computed from their names.

    It shares the encoder and the temperature of `loaded`. That was fitted on pages that were asked for other fields.

    Args:
        loaded: of task `fields_by_name`.
        fields: by name; a description is read in place of the name.

    Raises:
        CheckpointError: for a model of another task.
        InputError: as `check_names`.
    """
    task = loaded.recipe.task
    if not isinstance(task, ReadsNames):
        raise CheckpointError(
            f"{loaded.recipe.name} is a model of task {task.name}, which answers the fields that it was trained for, "
            "not those of your names; use `layoutray predict`, or give a model of task fields_by_name"
        )
    check_names(fields)
    texts = [fields[name].description or name for name in sorted(fields)]  # in the order of the labels
    weight, bias = task.output_rows(loaded.model, loaded.tokenizer, texts)
    answering = task.answering(fields)
    head = TokenClassificationHead(weight.shape[1], len(weight), loaded.recipe.arch_config.dropout)
    head.classifier.weight, head.classifier.bias = nn.Parameter(weight), nn.Parameter(bias)
    return replace(
        loaded,
        recipe=replace(loaded.recipe, task=answering),
        labels=answering.label_names([[f"B-{name}" for name in fields]]),
        model=TaskModel(loaded.model.encoder, head).eval(),
        metrics={name: value for name, value in loaded.metrics.items() if name == "step"},
        provenance={**loaded.provenance, "named_from": loaded.version},
    )


class NamedExtractor(Extractor):
    """Answers pages for the fields that each call names. Not thread safe. Raises CheckpointError as `named`."""

    def __init__(self, loaded: Checkpoint, model_id: str, device: torch.device) -> None:
        self._loaded = loaded
        self._on = device
        self._asked: OrderedDict[tuple[tuple[str, FieldType], ...], Extractor] = OrderedDict()
        # The fields of its example, which is answered before the model is served.
        super().__init__(named(loaded, {"total": FieldType(type="amount")}), model_id, device)

    @property
    def entity_types(self) -> tuple[str, ...]:
        """None: they are those that a call names."""
        return ()

    @property
    def fields(self) -> Mapping[str, FieldType]:
        """None: they are those that a call names."""
        return {}

    def asking(self, fields: Mapping[str, FieldType]) -> Extractor:
        key = tuple(fields.items())
        if key not in self._asked:
            self._asked[key] = Extractor(named(self._loaded, fields), self.model_id, self._on, self.model_version)
        self._asked.move_to_end(key)
        while len(self._asked) > _QUESTIONS:
            self._asked.popitem(last=False)
        return self._asked[key]
