"""Pyramidion starts from a trained text encoder, or from a Pyramidion that was trained without pooling."""

from pathlib import Path

import pytest
import torch

from layoutray import checkpoint
from layoutray.tensors import Batch
from layoutray.training.start import start_model
from tests.architectures.contract import random_batch
from tests.training.test_start import (
    BERT,
    KINDS,
    TEXT,
    VOCABULARY,
    encoder_of,
    fresh,
    of,
    real_states,
    trained,
    words_of,
)

PYRAMIDION = {"arch": "pyramidion", "encoder": "vanilla", "halvings": [0, 0], "core_positions": 48, **TEXT}


@pytest.mark.parametrize("core", ["roberta", "bert"])
def test_pyramidion_without_blocks_and_pooling_reads_as_its_core(core: str, tmp_path: Path) -> None:
    kind = KINDS[core]
    chosen = of(PYRAMIDION | kind | {"core": core})
    model = fresh(chosen).eval()
    source = trained(tmp_path, BERT | kind | {"model_type": core})
    assert start_model(model, chosen, VOCABULARY, [source]) == ()
    batch = words_of(random_batch())
    torch.testing.assert_close(
        real_states(model, batch), real_states(checkpoint.load(source).model, batch), atol=1e-5, rtol=0
    )


def test_pyramidion_that_pools_starts_from_one_that_was_trained_without_pooling(tmp_path: Path) -> None:
    pooling = of(PYRAMIDION | {"encoder": "deep_pyramidion", "halvings": [1, 0]})
    model, source = fresh(pooling), trained(tmp_path, PYRAMIDION)
    drawn = {name: tensor.clone() for name, tensor in model.encoder.pools.state_dict().items()}
    left = start_model(model, pooling, VOCABULARY, [source])
    assert set(left) == {"pools.0.scorer.classifier.weight", "pools.0.scorer.classifier.bias"}
    assert all(torch.equal(tensor, drawn[name]) for name, tensor in model.encoder.pools.state_dict().items())
    assert all(torch.equal(tensor, model.encoder.state_dict()[name]) for name, tensor in encoder_of(source).items())


def test_positions_of_a_long_text_start_again(tmp_path: Path) -> None:
    chosen = of(PYRAMIDION | {"core": "bert", "core_positions": 4, "norm_epsilon": 1e-12})
    encoder = fresh(chosen).eval().encoder
    ids = torch.tensor([[5, 6, 7, 8, 5, 6, 7, 8]])
    batch = Batch(input_ids=ids, boxes=torch.zeros(1, 8, 4, dtype=torch.long), mask=torch.ones(1, 8, dtype=torch.bool))
    embedded = encoder.embed(batch).states
    assert torch.equal(embedded[:, :4], embedded[:, 4:])
