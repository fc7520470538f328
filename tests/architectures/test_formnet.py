"""What the paper says of FormNet's encoder, and what must not go wrong with odd input."""

from dataclasses import replace

import pytest
import torch

from layoutray.architectures.formnet import ARCHITECTURE
from layoutray.errors import InputError
from tests.architectures.contract import CONTRACT, build, padded, random_batch

TINY = ARCHITECTURE.sizes["tiny"]
FLAT = replace(TINY, graph_layers=0)
PLAIN = replace(FLAT, attention="plain")


@pytest.mark.parametrize(
    "config",
    [
        PLAIN,
        FLAT,
        replace(TINY, attention="plain"),
        replace(TINY, relative_positions=0),
        replace(TINY, radius=2, relative_positions=2),
        replace(TINY, core="roberta"),
        replace(TINY, layout="winding"),
        replace(TINY, core="roberta", layout="winding", adapter="gentle"),
    ],
)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_every_variant_keeps(promise, config, tmp_path) -> None:
    promise(ARCHITECTURE, config, tmp_path)


@pytest.mark.parametrize(("size", "millions"), [("a1", 102), ("base", 184), ("a3", 286)])
def test_etc_has_the_papers_size(size: str, millions: int) -> None:
    config = replace(ARCHITECTURE.sizes[size], attention="plain", relative_positions=0, graph_layers=0)
    with torch.device("meta"):
        encoder = ARCHITECTURE.build(config, vocab_size=119_547, pad_id=0)
    ours = sum(parameter.numel() for parameter in encoder.parameters())
    # Output projection of the last layer for the global token, which nobody reads there.
    unused = config.hidden**2 + config.hidden
    assert round((ours + unused) / 1e6) == millions


def test_rich_attention_costs_few_parameters() -> None:
    with torch.device("meta"):
        rich, plain = (
            sum(parameter.numel() for parameter in ARCHITECTURE.build(config, vocab_size=1, pad_id=0).parameters())
            for config in (FLAT, PLAIN)
        )
    maps_per_head_and_axis = 2 * (2 * TINY.hidden // TINY.heads + 1) + 1
    assert rich - plain == TINY.layers * TINY.heads * 2 * maps_per_head_and_axis


@torch.no_grad()
def test_only_rich_attention_looks_at_boxes_and_only_at_their_centres() -> None:
    batch = random_batch()
    moved = replace(batch, boxes=batch.boxes.flip(1))
    grown = replace(batch, boxes=batch.boxes + torch.tensor([-1, -2, 1, 2]))
    for config, looks in ((FLAT, True), (PLAIN, False)):
        encoder = build(ARCHITECTURE, config).eval()
        states = encoder(batch).states
        assert torch.equal(encoder(moved).states, states) is not looks
        assert torch.equal(encoder(grown).states, states)


@torch.no_grad()
def test_where_the_page_lies_does_not_matter() -> None:
    encoder, batch = build(ARCHITECTURE, FLAT).eval(), random_batch()
    shifted = replace(batch, boxes=batch.boxes + 17)
    torch.testing.assert_close(encoder(shifted).states, encoder(batch).states, atol=1e-6, rtol=0)


@torch.no_grad()
def test_in_one_layer_a_token_sees_its_neighbours_and_in_two_the_global_token_carries_all() -> None:
    batch = random_batch()
    ids = batch.input_ids.clone()
    ids[:, 10] = ids[:, 11]
    for layers, reached in ((1, [8, 9, 10, 11, 12]), (2, list(range(24)))):
        encoder = build(ARCHITECTURE, replace(FLAT, layers=layers, radius=2, relative_positions=2)).eval()
        moved = (encoder(replace(batch, input_ids=ids)).states - encoder(batch).states).abs().amax((0, 2)) > 0
        assert moved.nonzero().flatten().tolist() == reached


@torch.no_grad()
def test_the_attention_that_is_drawn_is_the_one_that_is_used() -> None:
    encoder, batch = build(ARCHITECTURE, TINY).eval(), random_batch()
    with pytest.raises(
        InputError, match="layer is 2; it must be at least 0 and below the number of layers, which is 2"
    ):
        encoder.attention(batch, 2)
    for layer in range(2):
        attention = encoder.attention(batch, layer)
        assert attention.shape == (2, TINY.heads, 24, 24)
        total = attention.sum(-1)
        assert ((total > 0) & (total < 1)).all()
        distance = (torch.arange(24) - torch.arange(24)[:, None]).abs()
        assert torch.equal(attention[0, 0] > 0, distance <= TINY.radius)


@torch.no_grad()
@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 33])
def test_any_length_gives_what_padding_it_gives(length: int) -> None:
    encoder, batch = build(ARCHITECTURE, TINY).eval(), random_batch(length)
    alone = encoder(batch)
    assert alone.states.shape[1] == length
    torch.testing.assert_close(encoder(padded(batch, 40)).states[:, :length], alone.states, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("core", "adapter", "change"), [("none", "plain", 0.2), ("bert", "gentle", 0.0)])
def test_a_winding_embedding_starts_small_and_learns_absolute_places(core: str, adapter: str, change: float) -> None:
    config = replace(FLAT, core=core)
    with_layout, without = (
        build(ARCHITECTURE, replace(config, layout="winding", adapter=adapter)).eval(),
        build(ARCHITECTURE, config).eval(),
    )
    with_layout.load_state_dict(without.state_dict(), strict=False)
    batch = random_batch()
    states, plain = with_layout(batch).states, without(batch).states
    assert (states - plain).norm() / plain.norm() <= change
    states[..., 0].sum().backward()
    assert with_layout.layout.adapter.weight.grad.abs().sum() > 0
    with torch.no_grad():
        with_layout.layout.adapter.weight.normal_()
        shifted = replace(batch, boxes=batch.boxes + 17)
        assert (with_layout(shifted).states - with_layout(batch).states).abs().max() > 0.01


def test_impossible_configurations_are_refused() -> None:
    with pytest.raises(InputError, match="heads is 7; it must divide hidden, which is 128"):
        replace(TINY, heads=7)
    with pytest.raises(InputError, match="relative_positions is 12; it must be at most radius, which is 8"):
        replace(TINY, radius=8)
    with pytest.raises(InputError, match="relative_positions is -1"):
        replace(TINY, relative_positions=-1)
    with pytest.raises(InputError, match="hidden is 132; it must be divisible by eight"):
        replace(TINY, layout="winding", hidden=132)


@torch.no_grad()
def test_super_tokens_carry_what_stands_next_on_the_page() -> None:
    batch = random_batch()
    moved = replace(batch, boxes=batch.boxes + torch.nn.functional.pad(torch.tensor([[9, 0, 9, 0]]), (0, 0, 0, 23)))
    for layers, reached in ((1, 2), (2, 3)):
        encoder = build(ARCHITECTURE, replace(TINY, graph_layers=layers)).eval()
        changed = (encoder.embed(moved) - encoder.embed(batch)).abs().amax((0, 2)) > 0
        assert changed.nonzero().flatten().tolist() == list(range(2 * reached))


def test_windows_without_their_graph_are_refused() -> None:
    with pytest.raises(InputError, match="make them with `layoutray encode`"):
        build(ARCHITECTURE, TINY)(replace(random_batch(), neighbours=None))


@pytest.mark.parametrize(("size", "millions"), [("base", 30), ("a3", 56)])
def test_super_tokens_have_parameters_near_the_papers(size: str, millions: int) -> None:
    """Of A2 and A3; the paper's numbers for A1 leave room for twice as many."""
    with torch.device("meta"):
        parts = ARCHITECTURE.build(ARCHITECTURE.sizes[size], vocab_size=1, pad_id=0).super_tokens.parameters()
    assert sum(parameter.numel() for parameter in parts) / 1e6 == pytest.approx(millions, rel=0.12)
