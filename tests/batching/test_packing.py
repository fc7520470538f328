"""Packed windows give the loss, the gradients and the states of padded ones."""

from dataclasses import replace
from typing import Any, cast

import pytest
import torch

from layoutray import checkpoint
from layoutray.batching.collate import IGNORED, collate
from layoutray.batching.examples import unlabelled
from layoutray.batching.padding import pack
from layoutray.recipe.recipes import Recipe, from_dict
from layoutray.tensors import Batch, Places
from tests.jobs import pages, vocabulary

VOCABULARY = vocabulary()
LAYERS = {"hidden": 32, "layers": 2, "heads": 2, "feed_forward": 64, "dropout": 0.0, "attention_dropout": 0.0}
SKIMS = {"layout_hidden": 32, "head_size": 16, "skim_head_size": 16, "contextualiser_heads": 2}
MODELS: dict[str, dict[str, Any]] = {
    "skimformer": {"arch": "skimformer", **SKIMS},
    "skimformer without contextualiser": {"arch": "skimformer", **SKIMS, "contextualiser_layers": 0},
    "skimformer of the release": {"arch": "skimformer", **SKIMS, "contextualiser_mask": "reference_parity"},
    "lambert": {"arch": "lambert", "position_dropout": "none"},
    "lambert with relative biases": {"arch": "lambert", "position_dropout": "none", "relative_bias": "buckets"},
    "skim_embeddings": {"arch": "skim_embeddings", "layout_hidden": 32},
    "hf": {"arch": "hf"},
}


def recipe(model: str, task: str) -> Recipe:
    return from_dict({"name": model, "task": {"name": task}, "train": {"steps": 1}, "model": LAYERS | MODELS[model]})


def batch_of_windows() -> Batch:
    """Windows of different lengths, in which every third token has a target."""
    batch = collate([unlabelled(page, VOCABULARY, 48)[0] for page in pages(3)], VOCABULARY.pad_id)
    assert len(set(batch.mask.sum(1).tolist())) > 1, "there is padding"
    return with_targets(batch, every=3)


def with_targets(batch: Batch, every: int) -> Batch:
    labels = torch.arange(batch.input_ids.numel()).view_as(batch.input_ids) % 3
    wanted = batch.mask & (torch.arange(batch.input_ids.shape[1]) % every == 1)
    return replace(batch, labels=labels.masked_fill(~wanted, IGNORED))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("task", ["masked_lm", "entities"])
def test_loss_gradients_and_states_are_those_of_padded_windows(model: str, task: str) -> None:
    batch = batch_of_windows()
    made = checkpoint.build_model(recipe(model, task), VOCABULARY, ("O", "B-x", "I-x"))
    results: list[tuple[torch.Tensor, ...]] = []
    for one in (batch, pack(batch)):
        made.zero_grad()
        loss = made.train()(one)
        loss.backward()
        gradients = [part.grad for part in made.parameters() if part.grad is not None]
        results.append((loss.detach(), *gradients, made.encoded(one).states.detach()[batch.mask]))
    for padded, packed in zip(*results, strict=True):
        torch.testing.assert_close(packed, padded, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("model", ["skimformer", "lambert"])
def test_the_last_layer_computes_targets_alone(model: str) -> None:
    batch = pack(with_targets(batch_of_windows(), every=8))
    made = checkpoint.build_model(recipe(model, "masked_lm"), VOCABULARY, ())
    rows: list[int] = []
    cast(Any, made.encoder).layers[-1].feed_forward.register_forward_hook(lambda *call: rows.append(call[2].shape[1]))
    made(batch)
    assert batch.packing is not None
    assert rows == [sum(batch.packing.targets.lengths)]
    assert rows[0] < sum(batch.packing.tokens.lengths) / 4


@pytest.mark.parametrize("model", ["skimformer", "lambert", "skim_embeddings"])
def test_windows_without_targets_have_no_loss(model: str) -> None:
    batch = batch_of_windows()
    made = checkpoint.build_model(recipe(model, "masked_lm"), VOCABULARY, ())
    loss = made(pack(replace(batch, labels=torch.full_like(batch.input_ids, IGNORED))))
    loss.backward()
    assert float(loss.detach()) == 0


def test_texts_to_generate_are_not_packed() -> None:
    batch = batch_of_windows()
    assert pack(replace(batch, labels=None)).packing is None
    assert pack(replace(batch, labels=batch.input_ids[:, :-1])).packing is None


def test_places_unpack_what_they_pack() -> None:
    mask = torch.tensor([[True, True, False], [True, False, False], [True, True, True]])
    places, padded = Places.of(mask), torch.randn(3, 3, 4)
    packed = places.pack(padded)
    assert packed.shape == (1, 6, 4)
    torch.testing.assert_close(places.unpack(packed), padded * mask[..., None])
    assert torch.equal(places.mask(), mask)
