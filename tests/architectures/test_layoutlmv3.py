"""LayoutLMv3 without pictures equals the library's, with its weights."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import torch
from transformers import LayoutLMv3Config as LibraryConfig
from transformers import LayoutLMv3Model

from layoutray.architectures.layoutlmv3 import ARCHITECTURE, LayoutLMv3, LayoutLMv3Config
from layoutray.errors import InputError
from layoutray.nn.weight_names.bert import LAYOUTLMV3
from layoutray.tensors import Batch
from tests.architectures.contract import CONTRACT, build, padded, random_batch

TINY = ARCHITECTURE.sizes["tiny"]
BERT = replace(TINY, core="bert", start="gentle", relative_bias="scaled", segments=2, norm_epsilon=1e-12)
SIXTHS = replace(TINY, hidden=96, heads=6)
PAD = 1


@pytest.mark.parametrize("config", [BERT, SIXTHS])
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_every_variant_keeps(promise, config: LayoutLMv3Config, tmp_path: Path) -> None:
    promise(ARCHITECTURE, config, tmp_path)


def library(config: LayoutLMv3Config) -> LayoutLMv3Model:
    """The library's model with random weights in every parameter."""
    torch.manual_seed(2)
    theirs = LibraryConfig(
        vocab_size=300,
        pad_token_id=PAD,
        hidden_size=config.hidden,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=config.feed_forward,
        max_position_embeddings=config.max_length + PAD + 1,
        type_vocab_size=config.segments,
        layer_norm_eps=config.norm_epsilon,
        coordinate_size=config.coordinate_size,
        shape_size=config.shape_size,
        visual_embed=False,
    )
    model = LayoutLMv3Model(theirs).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return model


def alike(config: LayoutLMv3Config, model: LayoutLMv3Model) -> LayoutLMv3:
    encoder = ARCHITECTURE.build(config, vocab_size=300, pad_id=PAD)
    assert isinstance(encoder, LayoutLMv3)
    ours = LAYOUTLMV3.state_to_ours({f"layoutlmv3.{name}": tensor for name, tensor in model.state_dict().items()})
    encoder.load_state_dict({name.removeprefix("encoder."): tensor for name, tensor in ours.items()})
    return encoder.eval()


def batch_with(length: int, boxes: torch.Tensor | None = None) -> Batch:
    """Windows without pad ids, the second one shorter."""
    made = random_batch(length)
    ids = (made.input_ids + PAD + 1) % 300
    longer = padded(replace(made, input_ids=ids, boxes=made.boxes if boxes is None else boxes))
    return replace(longer, input_ids=longer.input_ids.masked_fill(~longer.mask, PAD))


@pytest.mark.parametrize("config", [TINY, SIXTHS, replace(TINY, segments=2, norm_epsilon=1e-12)])
@pytest.mark.parametrize("length", [3, 150])
@torch.no_grad()
def test_it_is_the_librarys(config: LayoutLMv3Config, length: int) -> None:
    """150 tokens reach the last bucket of the text, boxes from 0 to 1000 all buckets of the page.

    In double precision, in which only a wrong formula differs.
    """
    corners = torch.randint(0, 1001, (2, length, 2, 2), generator=torch.Generator().manual_seed(5)).sort(2).values
    corners[:, 0] = torch.tensor([[0, 0], [1000, 1000]])
    model, batch = library(config).double(), batch_with(length, corners.flatten(2))
    expected = model(input_ids=batch.input_ids, bbox=batch.boxes, attention_mask=batch.mask.long()).last_hidden_state
    found = alike(config, model).double()(batch).states
    torch.testing.assert_close(found[batch.mask], expected[batch.mask], atol=1e-9, rtol=0)


@torch.no_grad()
def test_without_layout_a_new_one_is_its_text_encoder() -> None:
    """Biases start at zero, so with coordinate tables of zero the states do not depend on boxes."""
    encoder, batch = build(ARCHITECTURE, BERT).eval(), random_batch()
    moved = replace(batch, boxes=batch.boxes.flip(1))
    assert not torch.equal(encoder(moved).states, encoder(batch).states)
    for table in encoder.boxes.children():
        torch.nn.init.zeros_(cast(torch.nn.Embedding, table).weight)
    assert torch.equal(encoder(moved).states, encoder(batch).states)


@torch.no_grad()
def test_gentle_tables_are_a_hundredth_and_scaled_biases_are_thirtyfold() -> None:
    gentle, drawn = build(ARCHITECTURE, BERT), build(ARCHITECTURE, replace(BERT, start="paper"))
    torch.testing.assert_close(gentle.boxes.x.weight, drawn.boxes.x.weight * 0.01)
    plain = build(ARCHITECTURE, replace(BERT, relative_bias="paper")).relative_bias
    boxes = random_batch().boxes
    torch.nn.init.normal_(plain.horizontal.weight)
    gentle.relative_bias.load_state_dict(plain.state_dict())
    torch.testing.assert_close(gentle.relative_bias(boxes), 30 * plain(boxes))


def test_base_has_the_published_size() -> None:
    """That of the library's with RoBERTa's words, without patches."""
    with torch.device("meta"):
        encoder = ARCHITECTURE.build(LayoutLMv3Config(), vocab_size=50265, pad_id=1)
        theirs = LayoutLMv3Model(
            LibraryConfig(visual_embed=False, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5)
        )
    assert sum(part.numel() for part in encoder.parameters()) == sum(part.numel() for part in theirs.parameters())


def test_an_odd_width_is_refused() -> None:
    with pytest.raises(InputError, match="hidden is 27; it must be even and at least six"):
        replace(TINY, hidden=27, heads=3)
