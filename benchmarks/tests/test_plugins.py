"""The plug-ins that the benchmarks bring: found by name, and what the papers say of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from layoutray import architectures, checkpoint
from layoutray.architectures import lambert, pyramidion
from layoutray.errors import InputError
from layoutray.nn.attention import attention_probabilities, split_heads
from layoutray.recipe import recipes
from layoutray.training.start import start_model
from tests.architectures.contract import CONTRACT, build, padded, random_batch
from tests.training.test_start import BERT, KINDS, TEXT, VOCABULARY, fresh, of, trained, words_of

TINY = pyramidion.ARCHITECTURE.sizes["tiny"]
LAMBERT = lambert.ARCHITECTURE.sizes["tiny"]


def encoder_of(**changes: Any) -> Any:
    return build(pyramidion.ARCHITECTURE, replace(TINY, **changes)).eval()


@pytest.mark.parametrize("name", ["lsh", "efficient", "power", "funnel"])
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_every_encoder_keeps(promise: Any, name: str, tmp_path: Path) -> None:
    # In small blocks PoWER hardly settles whom to keep, and so never learns all of them by heart.
    config = replace(TINY, encoder=name, block=0 if name == "power" else 8, lsh_chunk=8)
    promise(pyramidion.ARCHITECTURE, config, tmp_path)


@pytest.mark.parametrize("layout", ["graph", "autoencoder"])
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_every_layout_keeps(promise: Any, layout: str, tmp_path: Path) -> None:
    promise(lambert.ARCHITECTURE, replace(LAMBERT, layout=layout), tmp_path)


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_docpolarbert_keeps(promise: Any, tmp_path: Path) -> None:
    docpolarbert = architectures.load("docpolarbert")
    promise(docpolarbert, docpolarbert.sizes["tiny"], tmp_path)


@pytest.mark.parametrize("core", ["roberta", "bert"])
def test_docpolarbert_reads_as_its_roberta_or_bert(core: str, tmp_path: Path) -> None:
    kind = KINDS[core]
    chosen = of({"arch": "docpolarbert", "core": core, **TEXT, **kind})
    source, model = trained(tmp_path, BERT | kind | {"model_type": core}), fresh(chosen).eval()
    left = start_model(model, chosen, VOCABULARY, [source])
    assert {name.partition(".")[0] for name in left} == {"relative_keys"}
    batch = words_of(random_batch())
    expected = checkpoint.load(source).model.encoder(batch).states
    torch.testing.assert_close(model.encoder(batch).states, expected, atol=1e-5, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("name", ["lsh", "efficient", "power", "funnel"])
@pytest.mark.parametrize("length", [1, 9, 64, 100])
def test_a_text_of_any_length_is_read_and_padding_beside_it_is_not(name: str, length: int) -> None:
    encoder, batch = encoder_of(encoder=name, block=16, lsh_chunk=8, max_length=128), random_batch(length)
    alone, beside_longer = encoder(batch), encoder(padded(batch, 21))
    torch.testing.assert_close(beside_longer.states[beside_longer.mask], alone.states[alone.mask], atol=1e-5, rtol=0)
    assert torch.equal(beside_longer.origin[beside_longer.mask], alone.origin[alone.mask])
    assert alone.mask.sum(1).tolist() == 2 * [-(-length // 4) if name == "power" else length]


@torch.no_grad()
def test_power_keeps_the_tokens_of_the_largest_columns() -> None:
    encoder, batch = encoder_of(encoder="power", block=0, halvings=(1, 0)), random_batch()
    tokens, layer = encoder.embed(batch), encoder.layers[0]
    query, key = (
        split_heads(project(tokens.states), TINY.heads) for project in (layer.attention.query, layer.attention.key)
    )
    columns = attention_probabilities(query, key, batch.mask).sum((1, 2))
    kept = columns.topk(12).indices.sort().values
    states = layer(tokens.states, batch.mask).gather(1, kept[..., None].expand(-1, -1, TINY.hidden))
    encoded = encoder(batch)
    assert torch.equal(encoded.origin, kept)
    torch.testing.assert_close(encoded.states, encoder.layers[1](states, torch.ones(2, 12, dtype=torch.bool)))


@torch.no_grad()
def test_power_keeps_tokens_whole() -> None:
    encoded = encoder_of(encoder="power")(random_batch())
    assert torch.equal(encoded.mixture.tokens[..., 0], encoded.origin)
    assert bool((encoded.mixture.weights == 1).all())


@torch.no_grad()
def test_funnel_keeps_every_token_and_needs_two_layers() -> None:
    encoder = encoder_of(encoder="funnel")
    assert not encoder.has_mixture
    assert encoder(random_batch()).mixture is None
    with pytest.raises(InputError, match="layers is 1; encoder 'funnel' needs at least 2"):
        encoder_of(encoder="funnel", layers=1, halvings=(1,))


@torch.no_grad()
@pytest.mark.parametrize("layout", ["graph", "autoencoder"])
def test_layout_changes_states_unless_its_weights_are_zero(layout: str) -> None:
    config = replace(LAMBERT, layout=layout)
    encoder, batch = build(lambert.ARCHITECTURE, config).eval(), random_batch()
    moved = replace(batch, boxes=batch.boxes.flip(1))
    assert not torch.equal(encoder(moved).states, encoder(batch).states)
    for parameter in encoder.layout.parameters():
        parameter.zero_()
    assert torch.equal(encoder(moved).states, encoder(batch).states)


@pytest.mark.parametrize("layout", ["graph", "autoencoder"])
def test_a_gentle_adapter_starts_at_zero_and_is_trained(layout: str) -> None:
    config = replace(LAMBERT, layout=layout, adapter="gentle", position_dropout="none")
    encoder, batch = build(lambert.ARCHITECTURE, config).eval(), random_batch()
    assert not encoder.layout.adapter.weight.any()
    encoder(batch).states[..., 0].sum().backward()
    assert encoder.layout.adapter.weight.grad.any()


def test_only_the_winding_embedding_needs_a_width_divisible_by_eight() -> None:
    assert replace(LAMBERT, hidden=36, layout="graph").hidden == 36


def test_a_recipe_of_the_plug_ins_is_found_by_name_and_listed() -> None:
    assert recipes.load("pretrain-neighbourhoods").task.name == "neighbourhoods"
    with pytest.raises(InputError, match=r"no recipe called 'none'; shipped: .*pretrain-neighbourhoods"):
        recipes.load("none")


@pytest.mark.parametrize("encoder", ["lsh", "power"])
def test_padding_as_released_is_refused(encoder: str) -> None:
    with pytest.raises(InputError, match=f"encoder is '{encoder}'; with padding 'reference_parity' it must be"):
        replace(TINY, encoder=encoder, padding="reference_parity")
