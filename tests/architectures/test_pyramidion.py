"""What the paper says of the Pyramidion family, and texts of any length."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from layoutray import config
from layoutray.architectures.pyramidion import ARCHITECTURE, PyramidionConfig
from layoutray.errors import InputError
from layoutray.nn.block import EncoderLayer
from layoutray.nn.decoder import Decoder, DecoderConfig
from layoutray.nn.encoder_family import ENCODERS
from layoutray.nn.token_scoring import ScorerName
from layoutray.tasks import TaskModel
from layoutray.tensors import Batch
from tests.architectures.contract import CONTRACT, build, padded, random_batch

TINY = ARCHITECTURE.sizes["tiny"]


def encoder_of(**changes: Any) -> Any:
    return build(ARCHITECTURE, replace(TINY, **changes)).eval()


@pytest.mark.parametrize("name", [name for name in ENCODERS if name != TINY.encoder])
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_every_encoder_keeps(promise: Any, name: str, tmp_path: Path) -> None:
    promise(ARCHITECTURE, replace(TINY, encoder=name, block=8), tmp_path)


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_the_input_of_a_trained_encoder_keeps(promise: Any, tmp_path: Path) -> None:
    promise(ARCHITECTURE, replace(TINY, core="roberta", core_positions=64), tmp_path)


@torch.no_grad()
@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("length", [1, 9, 64, 100])
def test_a_text_of_any_length_is_read_and_padding_beside_it_is_not(name: str, length: int) -> None:
    encoder, batch = encoder_of(encoder=name, block=16, max_length=128), random_batch_of(length)
    alone, beside_longer = encoder(batch), encoder(padded(batch, 21))
    torch.testing.assert_close(beside_longer.states[beside_longer.mask], alone.states[alone.mask], atol=1e-5, rtol=0)
    assert torch.equal(beside_longer.origin[beside_longer.mask], alone.origin[alone.mask])
    pooled = any(replace(TINY, encoder=name).halvings_per_layer)
    assert alone.mask.sum(1).tolist() == 2 * [-(-length // 4) if pooled else length]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vanilla", (0, 0, 0, 0, 0, 0)),
        ("transpooler", (0, 0, 0, 0, 0, 4)),
        ("pyramidion", (0, 1, 1, 0, 1, 1)),
        ("deep_pyramidion", (0, 0, 2, 2, 0, 0)),
    ],
)
def test_one_factor_is_spread_over_the_layers_in_each_encoders_way(name: str, expected: tuple[int, ...]) -> None:
    assert PyramidionConfig(encoder=name).halvings_per_layer == expected


LAYOUTS = [
    ("boxes", "plain", "embedding.norm"),
    ("winding", "plain", "adapter"),
    ("winding", "gentle", "adapter"),
]


@pytest.mark.parametrize("layout", ["boxes", "winding"])
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_with_layout_it_keeps(promise: Any, layout: str, tmp_path: Path) -> None:
    promise(ARCHITECTURE, replace(TINY, layout=layout), tmp_path)


@torch.no_grad()
@pytest.mark.parametrize(("layout", "adapter", "last"), LAYOUTS)
def test_once_it_has_learned_where_tokens_stand_decides_who_is_kept(layout: str, adapter: str, last: str) -> None:
    encoder, batch = encoder_of(layout=layout, adapter=adapter), random_batch()
    encoder.layout.get_submodule(last).weight.normal_()
    moved = replace(batch, boxes=batch.boxes.flip(1))
    assert not torch.equal(encoder(moved).origin, encoder(batch).origin)
    assert not torch.equal(encoder(moved).states, encoder(batch).states)


@torch.no_grad()
@pytest.mark.parametrize(("layout", "adapter", "last"), LAYOUTS)
def test_without_layout_nothing_changes_to_the_last_bit(layout: str, adapter: str, last: str) -> None:
    plain, silent, batch = encoder_of(), encoder_of(layout=layout, adapter=adapter), random_batch()
    silent.load_state_dict(plain.state_dict(), strict=False)
    assert silent.layout(batch).abs().max() < 0.1, "it starts small"
    for parameter in silent.layout.get_submodule(last).parameters():
        parameter.zero_()
    moved = replace(batch, boxes=batch.boxes.flip(1))
    assert torch.equal(plain(moved).states, plain(batch).states)
    assert torch.equal(silent(batch).states, plain(batch).states)
    assert not any(name.startswith("layout") for name in plain.state_dict())


def test_windows_that_do_not_say_how_large_their_pages_are_are_refused() -> None:
    with pytest.raises(InputError, match="the examples have no page sizes"):
        encoder_of(layout="winding")(replace(random_batch(), page_sizes=None))


def words_seen(encoder: Any, batch: Batch, word: int) -> list[int]:
    """States that move when a word is replaced."""
    ids = batch.input_ids.clone()
    ids[:, word] = ids[:, word - 1]
    moved = (encoder(replace(batch, input_ids=ids)).states - encoder(batch).states).abs().amax((0, 2)) > 1e-6
    return moved.nonzero().flatten().tolist()


@torch.no_grad()
def test_without_halvings_it_is_a_plain_encoder() -> None:
    encoder, batch = encoder_of(block=0, halvings=(0, 0)), padded(random_batch())
    states = encoder.embed(batch).states
    for layer in encoder.layers:
        assert isinstance(layer, EncoderLayer)
        states = layer(states, batch.mask)
    encoded = encoder(batch)
    torch.testing.assert_close(encoded.states, states)
    assert torch.equal(encoded.mask, batch.mask)
    assert encoded.origin[0].tolist() == list(range(batch.input_ids.shape[1]))


@torch.no_grad()
@pytest.mark.parametrize(("block", "expected"), [(8, range(8, 16)), (0, range(24)), (64, range(24))])
def test_a_token_sees_its_block(block: int, expected: range) -> None:
    assert words_seen(encoder_of(block=block, halvings=(0, 0)), random_batch(), 10) == list(expected)


@torch.no_grad()
def test_after_pooling_what_was_far_apart_shares_a_block() -> None:
    assert len(words_seen(encoder_of(block=8, halvings=(2, 0)), random_batch(32), 10)) == 8


@torch.no_grad()
@pytest.mark.parametrize(("length", "kept"), [(1, 1), (4, 1), (5, 2), (24, 6), (25, 7), (200, 50)])
@pytest.mark.parametrize("pooling", ["successive_halving", "mean", "max"])
def test_a_text_of_any_length_is_shortened_in_proportion(pooling: str, length: int, kept: int) -> None:
    encoded = encoder_of(pooling=pooling, max_length=512)(padded(random_batch_of(length)))
    assert encoded.mask.sum(1).tolist() == [kept, kept]
    assert (encoded.origin[encoded.mask] < length).all()


def random_batch_of(length: int) -> Batch:
    ids = torch.randint(1, 200, (2, length), generator=torch.Generator().manual_seed(length))
    return Batch(
        input_ids=ids,
        boxes=torch.zeros(2, length, 4, dtype=torch.int64),
        mask=torch.ones(2, length, dtype=torch.bool),
        labels=torch.zeros_like(ids),
    )


@torch.no_grad()
@pytest.mark.parametrize("name", [name for name in get_args(ScorerName) if name != "random"])
@pytest.mark.parametrize("pooling", ["successive_halving", "hard"])
def test_padding_leaks_through_no_scorer(name: str, pooling: str) -> None:
    if pooling == "hard" and name in ("linear", "nonlinear"):
        with pytest.raises(InputError, match="gets no gradient"):
            encoder_of(scorer=name, pooling=pooling)
        return
    encoder, batch = encoder_of(scorer=name, pooling=pooling, block=16), random_batch()
    alone, beside_longer = encoder(batch), encoder(padded(batch))
    torch.testing.assert_close(beside_longer.states[beside_longer.mask], alone.states[alone.mask], atol=1e-5, rtol=0)
    assert torch.equal(beside_longer.origin[beside_longer.mask], alone.origin[alone.mask])


@torch.no_grad()
def test_attention_received_is_that_of_the_layer_before() -> None:
    encoder, batch = encoder_of(scorer="attention", pooling="hard", block=16, halvings=(1, 0)), random_batch(32)
    scores: list[Tensor] = []
    encoder.pools["0"].scorer.register_forward_hook(lambda _module, _inputs, output: scores.append(output))
    encoder(batch)
    # In each block, every head of every token gives 1 away.
    torch.testing.assert_close(scores[0].view(2, 2, 16).sum(-1), torch.full((2, 2), 16.0 * TINY.heads))


def test_lists_of_a_recipe_become_the_pyramid() -> None:
    made = config.build(PyramidionConfig, {"layers": 3, "halvings": [0, 2, 2]})
    assert made.halvings == (0, 2, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"halvings": (1,)}, r"halvings is \[1\]; it must be one number of at least 0 for each of the 2 layers"),
        ({"halvings": (1, -1)}, r"halvings is \[1, -1\]"),
        ({"block": -1}, "block is -1; it must be at least 0"),
        ({"hidden": 129, "heads": 3}, "hidden is 129; it must be even"),
        ({"heads": 3}, "heads is 3; it must divide hidden"),
        ({"layout": "winding", "hidden": 132, "heads": 3}, "hidden is 132; it must be divisible by eight"),
        ({"lsh_chunk": 0}, "lsh_chunk is 0; it must be at least 1"),
        (
            {"encoder": "no_such"},
            "unknown name 'no_such' in pyramidion; known: blockwise, .*vanilla; if it is a plug-in of another package, "
            "install",
        ),
        ({"pairing": "neighbours", "order": "score"}, "pairing is 'neighbours'; .*, not 'score' and 'masked'"),
        ({"pairing": "neighbours", "padding": "reference_parity"}, "not 'document' and 'reference_parity'"),
        ({"padding": "reference_parity", "core": "bert"}, "core is 'bert'; with padding"),
        ({"padding": "reference_parity", "max_length": 96}, "max_length is 96; .* a layer gets 96"),
        ({"padding": "reference_parity", "max_length": 64, "block": 32, "halvings": (0, 7)}, "a layer gets 64"),
    ],
)
def test_impossible_pyramids_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(TINY, **changes)


def test_the_papers_size() -> None:
    """124 million parameters with a vocabulary of 32 thousand and as deep a decoder."""
    with torch.device("meta"):
        encoder = ARCHITECTURE.build(ARCHITECTURE.sizes["base"], vocab_size=32_000, pad_id=1)
        assert isinstance(encoder.word_embedding, torch.nn.Embedding)
        model = TaskModel(encoder, Decoder(encoder.word_embedding, DecoderConfig()))
    assert sum(parameter.numel() for parameter in model.parameters()) / 1e6 == pytest.approx(124, abs=0.5)


class Unmixed(torch.nn.Module):
    """A layer that leaves tokens as they are."""

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        return states


@torch.no_grad()
@pytest.mark.parametrize("name", ["transpooler", "pyramidion", "deep_pyramidion"])
@pytest.mark.parametrize("pooling", [{}, {"pairing": "neighbours"}, {"pooling": "mean"}])
@pytest.mark.parametrize("length", [3, 21, 64])
def test_a_state_is_traced_back_through_all_poolings(name: str, pooling: dict[str, str], length: int) -> None:
    encoder, batch = encoder_of(encoder=name, max_length=128, **pooling), padded(random_batch_of(length))
    encoder.layers = torch.nn.ModuleList(Unmixed() for _ in encoder.layers)
    tokens, encoded = encoder.embed(batch).states, encoder(batch)
    assert encoder.has_mixture
    parts = (
        tokens[torch.arange(len(tokens))[:, None, None], encoded.mixture.tokens] * encoded.mixture.weights[..., None]
    )
    torch.testing.assert_close(parts.sum(2), encoded.states, atol=1e-5, rtol=0)
    assert int(encoded.mixture.tokens[encoded.mixture.weights > 0].max()) < length


@torch.no_grad()
@pytest.mark.parametrize("changes", [{"encoder": "vanilla"}, {"pooling": "max"}, {"halvings": (0, 0)}])
def test_encoders_that_keep_no_weighted_sums_say_so(changes: dict[str, Any]) -> None:
    encoder = encoder_of(**changes)
    assert not encoder.has_mixture
    assert encoder(random_batch()).mixture is None
