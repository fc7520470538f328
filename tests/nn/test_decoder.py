"""The decoder is causal, and gives the same logits with and without its cache."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import nn

from layoutray.errors import InputError
from layoutray.nn.decoder import Decoder, DecoderConfig
from layoutray.tensors import Encoded

VOCABULARY, WIDTH, PAD = 11, 16, 1


Positions = Literal["none", "reference_parity"]
Copying = Literal["none", "pointer"]


def small_decoder(positions: Positions = "none", copying: Copying = "none") -> Decoder:
    torch.manual_seed(0)
    config = DecoderConfig(layers=2, heads=4, feed_forward=24, positions=positions, copying=copying)
    return Decoder(nn.Embedding(VOCABULARY, WIDTH, padding_idx=PAD), config).eval()


def documents(count: int = 2) -> Encoded:
    """The first has seven states, the others three."""
    states = torch.randn(count, 7, WIDTH, generator=torch.Generator().manual_seed(3))
    sizes = torch.tensor([7] + [3] * (count - 1))
    words = torch.tensor([[-1, 4, 5, 6, 4, 9, -1], *[[-1, 5, 4, -1, -1, -1, -1]] * (count - 1)])
    return Encoded(
        states=states, mask=torch.arange(7) < sizes[:, None], origin=torch.arange(7).expand(count, 7), words=words
    )


TEXTS = torch.tensor([[2, 4, 5, 6, 4], [2, 9, 9, 3, 8]])
KINDS = pytest.mark.parametrize(
    ("positions", "copying"), [("none", "none"), ("reference_parity", "none"), ("none", "pointer")]
)
COPYING = pytest.mark.parametrize("copying", ["none", "pointer"])


@KINDS
@torch.no_grad()
def test_no_token_sees_later_tokens(positions: Positions, copying: Copying) -> None:
    decoder, changed = small_decoder(positions, copying), TEXTS.clone()
    changed[:, 3] = 10
    moved = (decoder(changed, documents()) - decoder(TEXTS, documents())).abs().amax((0, 2)) > 1e-6
    assert moved.tolist() == [False, False, False, True, True]


@KINDS
@torch.no_grad()
def test_generation_steps_equal_teacher_forcing(positions: Positions, copying: Copying) -> None:
    decoder, encoded = small_decoder(positions, copying), documents()
    whole = decoder(TEXTS, encoded)
    cache = decoder.start(encoded)
    for place in range(TEXTS.shape[1]):
        logits, cache = decoder.step(TEXTS[:, place], cache)
        torch.testing.assert_close(logits, whole[:, place], atol=1e-5, rtol=0)


@COPYING
@torch.no_grad()
def test_hypotheses_share_the_states_of_their_document_and_can_be_reordered(copying: Copying) -> None:
    decoder, encoded = small_decoder(copying=copying), documents()
    words = torch.tensor([[2, 2], [4, 5], [2, 2], [9, 8]])
    cache = decoder.start(encoded)
    for place in range(2):
        _, cache = decoder.step(words[:, place], cache)
    order = torch.tensor([1, 1, 3, 2])
    logits, _ = decoder.step(torch.full((4,), 6), cache.select(order))
    texts = torch.cat([words[order], torch.full((4, 1), 6)], 1)
    assert encoded.words is not None
    states, mask, origin, document = (
        part.repeat_interleave(2, 0) for part in (encoded.states, encoded.mask, encoded.origin, encoded.words)
    )
    twice = Encoded(states=states, mask=mask, origin=origin, words=document)
    torch.testing.assert_close(logits, decoder(texts, twice)[:, -1], atol=1e-5, rtol=0)


@COPYING
@torch.no_grad()
def test_only_real_states_are_read(copying: Copying) -> None:
    decoder, encoded = small_decoder(copying=copying), documents()
    noise = replace(encoded, states=encoded.states.masked_fill(~encoded.mask[..., None], 9.0))
    torch.testing.assert_close(decoder(TEXTS, noise), decoder(TEXTS, encoded))


@torch.no_grad()
def test_only_positions_distinguish_equal_tokens() -> None:
    same = torch.full((1, 4), 5)
    for positions, told in (("none", False), ("reference_parity", True)):
        logits = small_decoder(positions)(same, documents(1))[0]
        assert ((logits[1:] - logits[0]).abs().max() > 1e-4) == told


@torch.no_grad()
def test_padding_does_not_change_logits() -> None:
    # In float64: products of other shapes round differently, and how depends on the number of threads.
    decoder, encoded = small_decoder("reference_parity").double(), documents()
    exact = replace(encoded, states=encoded.states.double())
    longer = nn.functional.pad(TEXTS, (0, 3), value=PAD)
    torch.testing.assert_close(decoder(longer, exact)[:, :5], decoder(TEXTS, exact), atol=1e-12, rtol=0)


@COPYING
@torch.no_grad()
def test_a_document_of_padding_gives_no_nan(copying: Copying) -> None:
    encoded = documents()
    nothing = replace(encoded, mask=torch.zeros_like(encoded.mask))
    assert small_decoder(copying=copying)(TEXTS, nothing).isfinite().all()


@COPYING
def test_every_parameter_gets_a_gradient_and_the_embedding_table_is_shared(copying: Copying) -> None:
    decoder = small_decoder(copying=copying).train()
    decoder(TEXTS, documents()).pow(3).sum().backward()
    assert [
        name for name, parameter in decoder.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ] == []
    assert sum(parameter.shape[0] == VOCABULARY for parameter in decoder.parameters()) == 1


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(InputError, match="heads is 5; it must divide the width of the states, which is 16"):
        Decoder(nn.Embedding(4, 16, padding_idx=0), DecoderConfig(heads=5))
