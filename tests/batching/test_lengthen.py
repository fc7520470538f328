"""Windows that are padded further keep their losses, whatever the architecture and the task."""

from dataclasses import replace

import pytest
import torch

from layoutray import checkpoint, registry
from layoutray.batching.collate import IGNORED
from layoutray.batching.padding import lengthen, pack, padded_length
from layoutray.recipe.recipes import Recipe, from_dict
from layoutray.tasks.model import TaskModel
from layoutray.tensors import Batch
from tests.batching.test_packing import VOCABULARY, batch_of_windows
from tests.jobs import NO_DROPOUT

ARCHITECTURES = registry.names("layoutray.architectures", "ARCHITECTURE")


def of(arch: str, task: str) -> Recipe:
    model = {"arch": arch, "size": "tiny", **NO_DROPOUT}
    model |= {"position_dropout": "none"} if arch == "lambert" else {}
    return from_dict({"name": arch, "task": {"name": task}, "train": {"steps": 1}, "model": model, "max_length": 512})


def mean_loss(model: TaskModel, batch: Batch) -> float:
    assert batch.labels is not None
    return float(model(batch).detach()) / int((batch.labels != IGNORED).sum())


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("task", ["masked_lm", "entities"])
def test_the_loss_is_the_same(arch: str, task: str) -> None:
    batch = batch_of_windows()
    longer = lengthen(batch, 64, VOCABULARY.pad_id)
    assert longer.input_ids.shape[1] == 64 > batch.input_ids.shape[1]
    made = checkpoint.build_model(of(arch, task), VOCABULARY, ("O", "B-x", "I-x")).train()
    assert mean_loss(made, longer) == pytest.approx(mean_loss(made, batch), abs=1e-6)
    assert mean_loss(made, pack(longer)) == pytest.approx(mean_loss(made, pack(batch)), abs=1e-6)


def test_texts_to_generate_keep_their_length() -> None:
    batch = batch_of_windows()
    assert batch.labels is not None
    text = batch.labels[:, :5]
    longer = lengthen(replace(batch, labels=text), 64, VOCABULARY.pad_id)
    assert longer.labels is text
    made = checkpoint.build_model(of("pyramidion", "summary"), VOCABULARY, ()).eval()
    assert mean_loss(made, longer) == pytest.approx(mean_loss(made, replace(batch, labels=text)), abs=1e-6)


def test_padding_is_padding() -> None:
    batch = batch_of_windows()
    length = batch.input_ids.shape[1]
    longer = lengthen(batch, length + 2, pad_id=7)
    assert (longer.input_ids[:, length:] == 7).all()
    assert not longer.mask[:, length:].any()
    assert longer.boxes.shape == (3, length + 2, 4)
    assert not longer.boxes[:, length:].any()
    assert longer.labels is not None is not longer.word_index
    assert (longer.labels[:, length:] == IGNORED).all()
    assert (longer.word_index[:, length:] == -1).all()
    assert torch.equal(lengthen(longer, length + 2, 7).input_ids, longer.input_ids)


@pytest.mark.parametrize(("length", "padded"), [(1, 64), (64, 64), (65, 100), (100, 100), (120, 120)])
def test_lengths_are_multiples_up_to_the_longest(length: int, padded: int) -> None:
    assert padded_length(length, 64, 100) == padded
    assert padded_length(length, 1, 100) == length
