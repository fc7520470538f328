import pytest
import torch

from benchmarks.measure.skim_mask import measure_saving
from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError
from layoutray.recipe import recipes
from layoutray.tensors import Batch
from tests.jobs import vocabulary


def untrained(arch: str) -> Checkpoint:
    values = {
        "name": "untrained",
        "task": {"name": "masked_lm"},
        "train": {"steps": 1},
        "model": {"arch": arch, "size": "tiny"},
        "max_length": 32,
    }
    chosen = recipes.from_dict(values)
    return Checkpoint(
        recipe=chosen,
        labels=(),
        tokenizer=vocabulary(),
        model=checkpoint.build_model(chosen, vocabulary(), ()).eval(),
        metrics={},
        provenance={},
    )


def batch(length: int) -> Batch:
    random = torch.Generator().manual_seed(0)
    corners = torch.randint(0, 1001, (2, length, 2, 2), generator=random).sort(dim=-2).values
    return Batch(
        input_ids=torch.randint(5, 50, (2, length), generator=random),
        boxes=corners.flatten(-2),
        mask=torch.ones(2, length, dtype=torch.bool),
    )


@pytest.mark.parametrize("length", [32, 80])
def test_gathered_equals_dense_also_beyond_the_trained_length(length: int) -> None:
    saving = measure_saving(untrained("skimming_mask"), batch(length), top_k=4, block=8, rounds=1)
    assert saving.difference < 1e-5
    assert 4 / length <= saving.scores <= 1
    assert saving.inference > 0 < saving.training


def test_with_all_keys_nothing_is_saved() -> None:
    assert measure_saving(untrained("skimming_mask"), batch(32), top_k=32, block=8, rounds=1).scores == 1


def test_other_architectures_are_refused() -> None:
    with pytest.raises(InputError, match="architecture is skimformer"):
        measure_saving(untrained("skimformer"), batch(32), top_k=4, block=8, rounds=1)
