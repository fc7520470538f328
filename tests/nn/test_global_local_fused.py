"""The fused kernel equals the dense computation: uncompiled on any machine, compiled on a GPU."""

from collections.abc import Iterator

import pytest
import torch
from torch.nn.attention import flex_attention

from layoutray.nn.global_local_context import AttentionInputs
from layoutray.nn.global_local_fused import block_mask, fused_context
from tests.nn.attention_problems import assert_same, dense_context, problem

# Torch's own compiler looks at gradients of tensors that are no leaves.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")

CASES = pytest.mark.parametrize(
    ("length", "reach", "clip", "rich"),
    [(1, 1, 1, True), (9, 3, 2, True), (9, 9, 0, True), (9, 3, 0, False), (300, 84, 12, True)],
)


@pytest.fixture
def unfused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Torch refuses gradients on CPU for want of a kernel; unfused, none is needed.
    monkeypatch.setattr(flex_attention, "_validate_device", lambda *_: None)
    monkeypatch.setattr(flex_attention, "_WARNINGS_SHOWN", {"flex_attention_performance"})
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@CASES
@pytest.mark.usefixtures("unfused")
def test_uncompiled_it_equals_the_dense_computation(length: int, reach: int, clip: int, rich: bool) -> None:
    one = problem(length, reach, clip=clip, rich=rich)
    assert_same(one.outcome(fused_context), one.outcome(dense_context))


@pytest.mark.usefixtures("unfused")
def test_a_window_of_only_padding_gives_zeros_not_nan() -> None:
    one = problem(5, 2)
    one.mask[:] = False
    found = one.outcome(fused_context)
    assert not found["context"][:, :, 1:].any()
    assert all(tensor.isfinite().all() for tensor in found.values())


@pytest.mark.parametrize(
    ("length", "reach"), [(1, 1), (127, 84), (128, 84), (700, 84), (700, 128), (700, 129), (1000, 1)]
)
def test_visited_tiles_are_those_with_visible_pairs(length: int, reach: int) -> None:
    place = torch.arange(1 + length)
    seen = ((place - place[:, None]).abs() <= reach) | (place == 0) | (place[:, None] == 0)
    missing = -len(place) % 128
    tiles = torch.nn.functional.pad(seen, (0, missing, 0, missing)).unflatten(1, (-1, 128)).unflatten(0, (-1, 128))
    visited = block_mask(torch.ones(1, length, dtype=torch.bool), reach).to_dense()[0, 0].bool()
    assert torch.equal(visited, tiles.any(3).any(1))


@CASES
@pytest.mark.gpu
def test_compiled_it_equals_the_dense_computation(length: int, reach: int, clip: int, rich: bool) -> None:
    one = problem(length, reach, clip=clip, rich=rich)
    one.attention.cuda()
    one.states, one.mask, one.places = one.states.detach().cuda().requires_grad_(), one.mask.cuda(), one.places.cuda()
    assert_same(one.outcome(fused_context), one.outcome(dense_context))


@pytest.mark.gpu
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_gpu_uses_the_fused_kernel_unless_there_is_attention_dropout(
    dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = problem(9, 3)
    one.attention.cuda()
    one.attention.dropout = dropout
    calls: list[AttentionInputs] = []
    monkeypatch.setattr(
        "layoutray.nn.global_local_attention.fused_context",
        lambda who, value: [calls.append(who), dense_context(who, value)][1],
    )
    one.attention(one.states.cuda(), one.mask.cuda(), one.places.cuda())
    assert bool(calls) is (dropout == 0)
