"""LAMBERT is RoBERTa with layout: without layout, it equals the library's RoBERTa."""

from dataclasses import replace

import pytest
import torch
from transformers import AutoConfig, AutoModel

from layoutray.architectures.lambert import ARCHITECTURE, Lambert, LambertConfig
from layoutray.errors import InputError
from layoutray.nn.weight_names.bert import FROM_PEER
from tests.architectures.contract import CONTRACT, build, padded, random_batch

TINY = ARCHITECTURE.sizes["tiny"]
BERT = replace(TINY, core="bert", segments=2, norm_epsilon=1e-12)
RELEASED = replace(
    TINY, winding="released", layout_joins="after_norm", position_dropout="none", relative_bias="buckets"
)
PAD = 1


@pytest.mark.parametrize("config", [BERT, RELEASED, replace(TINY, layout="none")])
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_every_variant_keeps(promise, config: LambertConfig, tmp_path) -> None:
    promise(ARCHITECTURE, config, tmp_path)


def library(config: LambertConfig) -> torch.nn.Module:
    torch.manual_seed(2)
    extra = PAD + 1 if config.core == "roberta" else 0
    theirs = AutoConfig.for_model(
        config.core,
        vocab_size=300,
        pad_token_id=PAD,
        hidden_size=config.hidden,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=config.feed_forward,
        max_position_embeddings=config.max_length + extra,
        type_vocab_size=config.segments,
        layer_norm_eps=config.norm_epsilon,
    )
    model = AutoModel.from_config(theirs, add_pooling_layer=False).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return model


def alike(config: LambertConfig, model: torch.nn.Module) -> Lambert:
    """A LAMBERT with the library's weights and without layout."""
    encoder = ARCHITECTURE.build(config, vocab_size=300, pad_id=PAD)
    assert isinstance(encoder, Lambert)
    state = FROM_PEER.state_to_ours({f"model.{name}": tensor for name, tensor in model.state_dict().items()})
    left = encoder.load_state_dict(state, strict=False)
    assert left.unexpected_keys == []
    assert all(name.startswith(("layout.", "position_dropout.", "relative_bias.")) for name in left.missing_keys)
    if encoder.layout is not None:
        for parameter in encoder.layout.parameters():
            torch.nn.init.zeros_(parameter)
    return encoder.eval()


@pytest.mark.parametrize("config", [TINY, RELEASED, BERT, replace(BERT, layout="none", relative_bias="buckets")])
@torch.no_grad()
def test_without_layout_it_is_the_librarys(config: LambertConfig) -> None:
    model = library(config)
    encoder, batch = alike(config, model), random_batch()
    longer = padded(replace(batch, input_ids=batch.input_ids + PAD + 1))
    ids = longer.input_ids.masked_fill(~longer.mask, PAD)
    expected = model(input_ids=ids, attention_mask=longer.mask.long()).last_hidden_state
    found = encoder(replace(longer, input_ids=ids)).states
    torch.testing.assert_close(found[longer.mask], expected[longer.mask], atol=1e-5, rtol=0)


@torch.no_grad()
def test_at_the_end_of_training_positions_are_not_used() -> None:
    encoder, batch = build(ARCHITECTURE, TINY).eval(), random_batch()
    order = torch.randperm(24, generator=torch.Generator().manual_seed(1))
    assert batch.word_index is not None
    moved = replace(
        batch, input_ids=batch.input_ids[:, order], boxes=batch.boxes[:, order], word_index=batch.word_index[:, order]
    )
    assert (encoder(moved).states - encoder(batch).states[:, order]).abs().max() > 0.01
    encoder.set_progress(0.5)
    torch.testing.assert_close(encoder(moved).states, encoder(batch).states[:, order], atol=1e-5, rtol=0)
    kept = encoder(batch).states
    encoder.position_embedding.weight.add_(1.0)
    assert torch.equal(encoder(batch).states, kept)
    training = encoder.train()
    assert not training.position_dropout(training.position_embedding.weight, 2).any()


@torch.no_grad()
def test_without_position_dropout_training_keeps_positions() -> None:
    encoder = build(ARCHITECTURE, replace(TINY, position_dropout="none"))
    encoder.set_progress(0.9)
    assert encoder.position_dropout.share.item() == 0


@pytest.mark.parametrize(("layout", "looks"), [("winding", True), ("none", False)])
@torch.no_grad()
def test_layout_changes_states_if_the_model_has_one(layout: str, looks: bool) -> None:
    encoder, batch = build(ARCHITECTURE, replace(TINY, layout=layout)).eval(), random_batch()
    moved = replace(batch, boxes=batch.boxes.flip(1))
    assert torch.equal(encoder(moved).states, encoder(batch).states) is not looks


@torch.no_grad()
def test_equal_boxes_on_pages_of_other_shape_differ() -> None:
    batch = random_batch()
    assert batch.page_sizes is not None
    turned, doubled = (
        replace(batch, page_sizes=batch.page_sizes.flip(1)),
        replace(batch, page_sizes=batch.page_sizes * 2),
    )
    for config, looks in ((TINY, True), (replace(TINY, layout="none"), False)):
        encoder = build(ARCHITECTURE, config).eval()
        assert torch.equal(encoder(turned).states, encoder(batch).states) is not looks
        assert torch.equal(encoder(doubled).states, encoder(batch).states)


def test_a_gentle_adapter_starts_at_zero_and_is_trained() -> None:
    config = replace(TINY, adapter="gentle", position_dropout="none")
    with_layout, without = (
        build(ARCHITECTURE, config).eval(),
        build(ARCHITECTURE, replace(config, layout="none")).eval(),
    )
    with_layout.load_state_dict(without.state_dict(), strict=False)
    batch = random_batch()
    assert torch.equal(with_layout(batch).states, without(batch).states)
    with_layout(batch).states[..., 0].sum().backward()
    assert with_layout.layout.adapter.weight.grad.abs().sum() > 0


@torch.no_grad()
def test_relative_biases_start_at_zero_and_then_change_attention() -> None:
    with_biases, without = (
        build(ARCHITECTURE, replace(TINY, relative_bias=kind)).eval() for kind in ("buckets", "none")
    )
    batch = random_batch()
    with_biases.load_state_dict(without.state_dict(), strict=False)
    torch.testing.assert_close(with_biases(batch).states, without(batch).states, atol=1e-6, rtol=0)
    with_biases.relative_bias.vertical.weight.normal_()
    assert (with_biases(batch).states - without(batch).states).abs().max() > 0.001


def test_scaled_relative_biases_are_thirty_times_their_tables() -> None:
    scaled, plain = (build(ARCHITECTURE, replace(TINY, relative_bias=kind)).eval() for kind in ("scaled", "buckets"))
    batch = random_batch()
    scaled.relative_bias.vertical.weight.data.fill_(0.0)[0] = 0.1
    scaled.relative_bias.vertical.weight.data[5] = 0.1
    plain.load_state_dict(scaled.state_dict())
    assert not torch.allclose(plain(batch).states, scaled(batch).states, atol=1e-4)
    plain.relative_bias.vertical.weight.data.mul_(30)
    torch.testing.assert_close(plain(batch).states, scaled(batch).states, atol=1e-6, rtol=1e-5)


def test_base_is_roberta_with_one_layer_more() -> None:
    with torch.device("meta"):
        encoder = ARCHITECTURE.build(ARCHITECTURE.sizes["base"], vocab_size=50265, pad_id=1)
    total = sum(parameter.numel() for parameter in encoder.parameters())
    adapter, pooler = 768 * 768 + 768, 768 * 768 + 768
    assert (total - adapter + pooler) / 1e6 == pytest.approx(124.6, abs=0.05)


def test_examples_without_page_sizes_and_impossible_configurations_are_refused() -> None:
    encoder = build(ARCHITECTURE, TINY)
    with pytest.raises(InputError, match="the examples have no page sizes or no word numbers"):
        encoder(replace(random_batch(), page_sizes=None))
    with pytest.raises(InputError, match="hidden is 36; it must be divisible by eight"):
        replace(TINY, hidden=36)
    with pytest.raises(InputError, match=r"unknown name 'no_such' in lambert; known: .*none.*winding"):
        replace(TINY, layout="no_such")
