"""What the paper says of LongSkimformer, and what must not go wrong with odd input."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from layoutray.architectures.longskimformer import ARCHITECTURE
from layoutray.errors import InputError
from layoutray.tensors import Batch
from tests.architectures.contract import build, random_batch

TINY = ARCHITECTURE.sizes["tiny"]
NARROW = replace(TINY, window=4, layers=1, contextualiser_layers=0)


@torch.no_grad()
def test_attention_is_computed_once_and_from_layout_alone() -> None:
    encoder, batch = build(ARCHITECTURE, TINY).eval(), random_batch()
    seen: list[Tensor] = []
    encoder.skim_attention.register_forward_hook(lambda _module, _inputs, output: seen.append(output))
    encoder(batch)
    encoder(replace(batch, input_ids=batch.input_ids.flip(1)))
    assert len(seen) == 2
    assert torch.equal(*seen)


@torch.no_grad()
def test_a_token_sees_half_a_window_to_either_side_per_layer() -> None:
    encoder, batch = build(ARCHITECTURE, NARROW).eval(), random_batch()
    before = encoder(batch).states
    ids = batch.input_ids.clone()
    ids[:, 10] = ids[:, 11]
    moved = (encoder(replace(batch, input_ids=ids)).states - before).abs().amax((0, 2)) > 0
    assert moved.nonzero().flatten().tolist() == [8, 9, 10, 11, 12]


@torch.no_grad()
@pytest.mark.parametrize("length", [1, 2, 3, 31, 33, 64, 65])
def test_any_length_gives_what_padding_to_whole_windows_gives(length: int) -> None:
    encoder, batch = build(ARCHITECTURE, TINY).eval(), random_batch(length)
    words = torch.arange(length).expand(2, length)
    alone = encoder(replace(batch, word_index=words, neighbours=torch.full((2, length, 8), -1)))
    assert alone.states.shape[1] == length
    room = 2 * TINY.window - length
    longer = Batch(
        input_ids=torch.nn.functional.pad(batch.input_ids, (0, room)),
        boxes=torch.nn.functional.pad(batch.boxes, (0, 0, 0, room)),
        mask=torch.nn.functional.pad(batch.mask, (0, room), value=False),
    )
    torch.testing.assert_close(encoder(longer).states[:, :length], alone.states, atol=1e-5, rtol=0)


@torch.no_grad()
def test_rows_of_only_padding_are_finite() -> None:
    batch = random_batch()
    assert build(ARCHITECTURE, TINY).eval()(replace(batch, mask=torch.zeros_like(batch.mask))).states.isfinite().all()


@pytest.mark.parametrize(("window", "message"), [(7, "must be even"), (0, "at least 2")])
def test_a_window_has_two_equal_halves(window: int, message: str) -> None:
    with pytest.raises(InputError, match=f"window is {window}; it must be .*{message.removeprefix('must be ')}"):
        replace(TINY, window=window)
