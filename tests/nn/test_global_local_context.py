"""The banded computation equals the dense one, and its memory is linear in length."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from layoutray.nn.global_local_context import AttentionInputs, banded_context, dense_probabilities
from tests.nn.attention_problems import assert_same, dense_context, problem


def in_band(inputs: AttentionInputs, value: Tensor) -> Tensor:
    return banded_context(inputs, value, 0.0)


@settings(max_examples=25)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 3), st.booleans(), st.integers(0, 5))
def test_the_band_equals_the_matrix(length: int, reach: int, clip: int, rich: bool, seed: int) -> None:
    given_problem = problem(length, reach, clip=min(clip, reach), rich=rich, seed=seed)
    assert_same(given_problem.outcome(in_band), given_problem.outcome(dense_context))


@torch.no_grad()
def test_visible_pairs() -> None:
    one = problem(6, 2)
    one.mask[0, 4] = False
    seen = dense_probabilities(one.attention.attention_inputs(one.states, one.mask, one.places))[0].amin(0) > 0
    expected = [
        [1, 1, 1, 1, 1, 0, 1],  # the global token: all real ones
        [1, 1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 0, 0],
        [1, 0, 1, 1, 1, 0, 1],
        [0, 0, 0, 0, 0, 0, 0],  # padding
        [1, 0, 0, 0, 1, 0, 1],
    ]
    assert seen.int().tolist() == expected


@torch.no_grad()
def test_a_reach_over_everything_is_ordinary_attention() -> None:
    one = problem(6, 9, rich=False)
    one.mask[:] = True
    expected = one.context(
        lambda who, value: torch.nn.functional.scaled_dot_product_attention(who.query, who.key, value, scale=1.0)
    )
    torch.testing.assert_close(one.context(in_band), expected)


@torch.no_grad()
def test_relative_positions_depend_on_distance_alone() -> None:
    one = problem(8, 4, clip=2, rich=False)
    one.mask[:] = True
    one.attention.query.weight.zero_()
    one.attention.key.weight.zero_()
    one.attention.key.bias.zero_()
    probabilities = dense_probabilities(one.attention.attention_inputs(one.states, one.mask, one.places))[0, 0, 1:, 1:]
    by_distance = {
        offset: (probabilities.diagonal(offset) / probabilities.diagonal()[: 8 - offset]) for offset in range(1, 5)
    }
    assert all(torch.allclose(ratio, ratio[0]) for ratio in by_distance.values())
    assert torch.allclose(by_distance[2][0], by_distance[4][0])
    assert not torch.allclose(by_distance[1][0], by_distance[2][0])


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_window_of_only_padding_gives_zeros_not_nan(length: int) -> None:
    one = problem(length, 2, clip=1)
    one.mask[:] = False
    found = one.outcome(in_band)
    assert not found["context"][:, :, 1:].any()
    assert all(tensor.isfinite().all() for tensor in found.values())


@torch.no_grad()
def test_padding_is_never_seen() -> None:
    one = problem(9, 4, clip=2)
    before = one.context(in_band)
    one.states[1, 1 + 9 // 2 :] += 5
    one.places[1, 9 // 2 :] += 5
    torch.testing.assert_close(one.context(in_band), before, atol=0, rtol=0)


@torch.no_grad()
def test_dropout_rescales_the_other_probabilities() -> None:
    one = problem(12, 4)
    drawn = torch.stack([one.context(lambda who, value: banded_context(who, value, 0.3)) for _ in range(300)])
    torch.testing.assert_close(drawn.mean(0), one.context(in_band), atol=0.5, rtol=0)
    assert drawn.std(0)[0].all()


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that is created."""

    numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        self.numel = max([self.numel, *(part.numel() for part in tree_leaves(made) if isinstance(part, Tensor))])
        return made


def test_no_tensor_grows_with_the_square_of_the_length() -> None:
    largest: list[int] = []
    for length in (256, 512, 1024):
        one = problem(length, 8, clip=2)
        with Largest() as seen:
            one.outcome(in_band)
        largest.append(seen.numel)
    assert largest[2] == 2 * largest[1] == 4 * largest[0]


def test_rich_attention_saves_no_tensor_of_the_bands_size_for_the_backward_pass() -> None:
    length, reach = 64, 16
    kept: dict[bool, int] = {}
    for rich in (False, True):
        one = problem(length, reach, rich=rich)
        saved: dict[int, int] = {}

        def note(tensor: Tensor, saved: dict[int, int] = saved) -> Tensor:
            saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            one.context(in_band)
        kept[rich] = sum(saved.values())
    band = 2 * 2 * length * (1 + 3 * reach) * 4
    assert kept[True] - kept[False] < band
