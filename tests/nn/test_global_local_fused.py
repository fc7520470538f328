"""The fused kernel equals the dense computation: uncompiled on any machine, compiled on a GPU.

For CPUs, PyTorch compiles the forward pass alone.
"""

import itertools
from collections.abc import Iterator
from functools import partial

import pytest
import torch
from torch import Tensor
from torch._dynamo import config as dynamo
from torch._dynamo.utils import counters
from torch.nn.attention import flex_attention

from layoutray.nn import global_local_fused
from layoutray.nn.global_local_context import AttentionInputs
from layoutray.nn.global_local_fused import block_mask, fused_context
from tests.nn.attention_problems import Problem, assert_same, dense_context, problem

# Torch's own compiler looks at gradients of tensors that are no leaves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
    pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated"),
]

CASES = pytest.mark.parametrize(
    ("length", "reach", "clip", "rich"),
    [(1, 1, 1, True), (9, 3, 2, True), (9, 9, 0, True), (9, 3, 0, False), (300, 84, 12, True)],
)


def context_in_tiles(inputs: AttentionInputs, value: Tensor) -> Tensor:
    return fused_context(inputs, value, block_mask(inputs.mask, inputs.reach))


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
    assert_same(one.outcome(context_in_tiles), one.outcome(dense_context))


@pytest.mark.usefixtures("unfused")
def test_a_window_of_only_padding_gives_zeros_not_nan() -> None:
    one = problem(5, 2)
    one.mask[:] = False
    found = one.outcome(context_in_tiles)
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


def assert_as_exact_as_dense(one: Problem, device: str) -> None:
    """In bf16, the fused kernel is about as far from the exact contexts and gradients as the dense computation."""
    for parameter in one.attention.parameters():
        torch.nn.init.normal_(parameter, std=0.1)  # as trained weights; bf16 distorts larger scores
    exact = one.outcome(dense_context)
    with torch.autocast(device, torch.bfloat16):
        fused, dense = one.outcome(context_in_tiles), one.outcome(dense_context)
    assert fused["context"].dtype == torch.bfloat16
    for name, expected in exact.items():
        allowed = 2 * (dense[name] - expected).norm() + 0.005 * expected.norm()
        assert (fused[name] - expected).norm() <= allowed, name


@pytest.mark.usefixtures("unfused")
@pytest.mark.parametrize("size", [16, 64])
def test_uncompiled_in_bf16_it_is_as_exact_as_the_dense_computation(size: int) -> None:
    assert_as_exact_as_dense(problem(150, 40, clip=12, size=size), "cpu")


def test_inputs_of_more_than_eight_kinds_stay_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.compiler.reset()
    monkeypatch.setattr(dynamo, "recompile_limit", 8)
    # Without generated code, so that the test takes seconds. An uncompiled call warns, and warnings are errors.
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    monkeypatch.setattr(global_local_fused, "flex_attention", global_local_fused.compiled.__wrapped__())
    before = counters["stats"]["unique_graphs"]
    for length, clip, rich, dtype in itertools.product((9, 300), (0, 2), (False, True), (torch.float32, torch.float64)):
        one = problem(length, 3, clip=clip, rich=rich)
        one.attention.to(dtype)
        one.states = one.states.detach().to(dtype)
        with torch.no_grad():
            torch.testing.assert_close(one.context(context_in_tiles), one.context(dense_context), atol=1e-4, rtol=0)
    assert counters["stats"]["unique_graphs"] - before > 8
    torch.compiler.reset()


@pytest.mark.slow
def test_compiled_for_a_cpu_it_equals_the_dense_computation_at_every_length(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.compiler.reset()
    monkeypatch.setattr(global_local_fused, "flex_attention", torch.compile(flex_attention.flex_attention))
    assert_same_at_every_length("cpu")


def assert_same_at_every_length(device: str) -> None:
    """Windows differ in length from batch to batch. The kernel is compiled for a few of them, not for each."""
    before = counters["stats"]["unique_graphs"]
    for length in (300, 9, 200, 130, 513, 700, 127, 1023):
        one = problem(length, 84, clip=12, size=16).on(device)
        with torch.no_grad():
            torch.testing.assert_close(one.context(context_in_tiles), one.context(dense_context), atol=1e-4, rtol=0)
    assert counters["stats"]["unique_graphs"] - before <= 4


@pytest.mark.gpu
def test_on_a_gpu_it_equals_the_dense_computation_at_every_length() -> None:
    torch.compiler.reset()
    assert_same_at_every_length("cuda")


# Compiled, flex_attention refuses heads of less than 16 elements.
@CASES
@pytest.mark.gpu
@pytest.mark.parametrize("size", [16, 64])
def test_on_a_gpu_it_equals_the_dense_computation(length: int, reach: int, clip: int, rich: bool, size: int) -> None:
    one = problem(length, reach, clip=clip, rich=rich, size=size).on("cuda")
    assert_same(one.outcome(context_in_tiles), one.outcome(dense_context))


@pytest.mark.gpu
@pytest.mark.parametrize(("length", "size"), [(300, 16), (300, 64), (1000, 64)])
def test_on_a_gpu_in_bf16_it_is_as_exact_as_the_dense_computation(length: int, size: int) -> None:
    assert_as_exact_as_dense(problem(length, 84, clip=12, size=size).on("cuda"), "cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_gpu_uses_the_fused_kernel_unless_there_is_attention_dropout(
    dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = problem(9, 3, size=16).on("cuda")
    one.attention.dropout = dropout
    calls: list[AttentionInputs] = []
    monkeypatch.setattr(
        "layoutray.nn.global_local_attention.fused_context",
        lambda who, value, _: [calls.append(who), dense_context(who, value)][1],
    )
    one.attention(one.states, one.mask, one.places, one.attention.tiles(one.mask))
    assert bool(calls) is (dropout == 0)
