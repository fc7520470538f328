from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

from layoutray.architectures.skimformer import ARCHITECTURE, Skimformer, SkimformerConfig
from layoutray.errors import InputError
from layoutray.tensors import Batch
from tests.architectures.contract import CONTRACT, PADDING, build, padded, random_batch

TINY = ARCHITECTURE.sizes["tiny"]
LAYOUT = replace(TINY, contextualiser_layers=0)
VARIANTS = {
    "no_contextualiser": LAYOUT,
    "degraded": replace(LAYOUT, layout="degraded"),
    "uniform": replace(LAYOUT, layout="uniform"),
    "1d": replace(LAYOUT, layout="1d"),
    "degraded_contextualised": replace(TINY, layout="degraded"),
    "local": replace(TINY, start="local"),
    "unequal_sizes": replace(TINY, hidden=96, layout_hidden=160, head_size=20, skim_head_size=12, feed_forward=224),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_every_variant_keeps(promise, variant: str, tmp_path: Path) -> None:
    promise(ARCHITECTURE, VARIANTS[variant], tmp_path)


def attentions(encoder: Skimformer, *batches: Batch) -> list[Tensor]:
    """What Skim-Attention gave in the forward passes over `batches`, each time that it was called."""
    seen: list[Tensor] = []
    handle = encoder.skim_attention.register_forward_hook(lambda _module, _inputs, output: seen.append(output))
    with torch.no_grad():
        for batch in batches:
            encoder(batch)
    handle.remove()
    return seen


def test_attention_does_not_move_when_the_words_change() -> None:
    encoder, batch = build(ARCHITECTURE, TINY).eval(), random_batch()
    before, after = attentions(encoder, batch, replace(batch, input_ids=batch.input_ids.flip(1)))
    assert torch.equal(before, after)


def test_attention_moves_when_a_box_changes() -> None:
    encoder, batch = build(ARCHITECTURE, TINY).eval(), random_batch()
    boxes = batch.boxes.clone()
    boxes[0, 3] = torch.tensor([1, 2, 1000, 1000])
    before, after = attentions(encoder, batch, replace(batch, boxes=boxes))
    assert not torch.equal(before[0], after[0])
    assert torch.equal(before[1], after[1])


@pytest.mark.parametrize("layers", [1, 5])
def test_attention_is_computed_once_however_many_layers(layers: int) -> None:
    assert len(attentions(build(ARCHITECTURE, replace(TINY, layers=layers)), random_batch())) == 1


def test_all_layers_are_given_the_same_attention_after_one_dropout() -> None:
    encoder = build(ARCHITECTURE, TINY).train()
    used: list[partial[Tensor]] = []
    for layer in encoder.layers:
        layer.register_forward_pre_hook(lambda _module, inputs: used.append(inputs[1]))
    (computed,) = attentions(encoder, random_batch())
    assert (computed == 0).any(), "dropout acts on the probabilities"
    assert all(attend.args[0] is computed for attend in used)


def test_attention_rows_are_probabilities_over_real_tokens() -> None:
    encoder, batch = build(ARCHITECTURE, TINY).eval(), random_batch()
    (attention,) = attentions(encoder, padded(batch))
    torch.testing.assert_close(attention.sum(-1), torch.ones_like(attention[..., 0]))
    assert (attention[..., -PADDING:] == 0).all()


def test_order_of_tokens_means_nothing_but_in_the_1d_variant() -> None:
    batch = random_batch()
    reversed_batch = Batch(input_ids=batch.input_ids.flip(1), boxes=batch.boxes.flip(1), mask=batch.mask)
    for config, same in ((TINY, True), (VARIANTS["1d"], False)):
        encoder = build(ARCHITECTURE, config).eval()
        with torch.no_grad():
            states, flipped = encoder(batch).states, encoder(reversed_batch).states.flip(1)
        assert torch.allclose(states, flipped, atol=1e-5) is same


@pytest.mark.parametrize("layout", ["uniform", "1d"])
def test_variants_without_layout_ignore_boxes(layout: str) -> None:
    encoder, batch = build(ARCHITECTURE, VARIANTS[layout]).eval(), random_batch()
    with torch.no_grad():
        assert torch.equal(encoder(batch).states, encoder(replace(batch, boxes=batch.boxes.flip(1))).states)


def test_degraded_layout_knows_centres_only() -> None:
    batch = random_batch()
    grown = batch.boxes + torch.tensor([-2, -3, 2, 3])
    batch, bigger = replace(batch, boxes=batch.boxes + 5), replace(batch, boxes=grown + 5)
    for config, same in ((VARIANTS["degraded"], True), (LAYOUT, False)):
        encoder = build(ARCHITECTURE, config).eval()
        with torch.no_grad():
            assert torch.equal(encoder(batch).states, encoder(bigger).states) is same


@torch.no_grad()
def test_reference_parity_shows_the_contextualiser_its_padding() -> None:
    batch = padded(random_batch())
    parity = build(ARCHITECTURE, replace(TINY, contextualiser_mask="reference_parity")).eval().contextualiser
    masked = build(ARCHITECTURE, TINY).eval().contextualiser
    layout = torch.randn(*batch.mask.shape, TINY.layout_hidden)
    everything = torch.ones_like(batch.mask)
    assert torch.equal(parity(layout, batch.mask), masked(layout, everything))
    assert not torch.allclose(parity(layout, batch.mask), masked(layout, batch.mask), atol=1e-3)


def test_a_document_of_padding_alone_stays_finite() -> None:
    batch = random_batch()
    mask = batch.mask.clone()
    mask[1] = False
    encoder = build(ARCHITECTURE, TINY)
    states = encoder(replace(batch, mask=mask)).states
    states.sum().backward()
    assert states.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in encoder.parameters())


def test_bf16_autocast_stays_near_float32() -> None:
    encoder, batch = build(ARCHITECTURE, TINY).eval(), padded(random_batch())
    with torch.no_grad():
        exact = encoder(batch).states
        with torch.autocast("cpu", torch.bfloat16):
            narrow = encoder(batch).states
    torch.testing.assert_close(narrow.float(), exact, atol=0.1, rtol=0)


def test_with_a_local_start_most_attention_is_near_the_token() -> None:
    x, y = torch.meshgrid(torch.arange(4) * 200 + 100, torch.arange(30) * 25 + 50, indexing="xy")
    boxes = torch.stack([x, y, x + 120, y + 18], -1).reshape(1, 120, 4)
    batch = Batch(
        input_ids=torch.ones(1, 120, dtype=torch.long), boxes=boxes, mask=torch.ones(1, 120, dtype=torch.bool)
    )
    near = slice(44, 56)  # three lines around that of the words 48 to 51

    def share(config: SkimformerConfig, seed: int) -> float:
        torch.manual_seed(seed)
        encoder = ARCHITECTURE.build(config, vocab_size=10, pad_id=0).eval()
        return float(encoder.skim(batch)[0, :, 48:52, near].detach().sum(-1).mean())

    minilm = ARCHITECTURE.sizes["minilm"]
    assert min(share(replace(minilm, start="local"), seed) for seed in range(3)) > 0.3, "three times an equal share"
    assert max(share(replace(minilm, start="paper"), seed) for seed in range(3)) < 0.12


def test_a_local_start_needs_boxes() -> None:
    with pytest.raises(InputError, match="start is 'local' and layout is 'degraded'; it must be 'boxes'"):
        replace(TINY, layout="degraded", start="local")


def test_contextualiser_needs_heads_that_divide_its_width() -> None:
    with pytest.raises(InputError, match="contextualiser_heads is 5; it must divide layout_hidden, which is 64"):
        SkimformerConfig(layout_hidden=64, contextualiser_heads=5)
    assert SkimformerConfig(layout_hidden=64, contextualiser_heads=5, contextualiser_layers=0).layout_hidden == 64


def test_1d_positions_are_not_contextualised() -> None:
    with pytest.raises(InputError, match="contextualiser_layers is 2; it must be 0 with layout '1d'"):
        SkimformerConfig(layout="1d")


def test_coordinate_tables_cover_every_box() -> None:
    with pytest.raises(InputError, match="max_2d is 1000; it must be at least 1001"):
        SkimformerConfig(max_2d=1000)
    encoder, batch = build(ARCHITECTURE, replace(TINY, max_2d=1001)), random_batch()
    assert (
        encoder(replace(batch, boxes=torch.tensor([0, 0, 1000, 1000]).expand_as(batch.boxes))).states.isfinite().all()
    )
