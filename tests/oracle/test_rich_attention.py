"""Rich Attention against an independent computation (architectures.md §3.1), in all four variants of its score."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from layoutray.nn.local_attention import Band
from layoutray.nn.rich_attention import RichAxis, distance_score, order_score, rich_scores
from layoutray.nn.rich_band import add_rich_scores
from tests.oracle.cases import Case, files, read

TOLERANCE = 1e-10
CASES = pytest.mark.parametrize("file", files("formnet/rich_attention_*.safetensors"))
VARIANTS = pytest.mark.parametrize(
    ("source", "scale"), [("h", "noscale"), ("h", "scaled"), ("qk", "noscale"), ("qk", "scaled")]
)


def assert_close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=TOLERANCE, rtol=TOLERANCE)


def heads_of(case: Case, name: str) -> Tensor:
    """Queries, keys or values, (1, heads, length, size)."""
    states = case.tensors["in/h"] @ case.tensors[f"w/W{name}"].T + case.tensors[f"w/b{name}"]
    return states.unflatten(-1, (case.tensors["w/theta"].shape[1], -1)).transpose(0, 1)[None]


def axes_of(case: Case, source: str) -> list[RichAxis]:
    """The affine maps applied to either half of [u_i; w_j]."""
    weights, states = case.group("w"), case.tensors["in/h"][None, None]
    left, right = (states, states) if source == "h" else (heads_of(case, "q"), heads_of(case, "k"))
    axes: list[RichAxis] = []
    for axis, place in enumerate(case.tensors["in/xy"].unbind(-1)):
        order, distance = weights[f"wp_{source}"][axis].chunk(2, -1), weights[f"wm_{source}"][axis].chunk(2, -1)
        order_query = (left * order[0][:, None]).sum(-1) + weights["bp"][axis][:, None]
        distance_query = (left * distance[0][:, None]).sum(-1) + weights["bm"][axis][:, None]
        order_key, distance_key = ((right * half[:, None]).sum(-1) for half in (order[1], distance[1]))
        theta = weights["theta"][axis][None, :, None].expand_as(order_query)
        axes.append(
            RichAxis(
                order_query=order_query,
                order_key=order_key,
                distance_query=distance_query,
                distance_key=distance_key,
                theta=theta,
                coordinate=place[None, None],
            )
        )
    return axes


@CASES
@pytest.mark.parametrize("source", ["h", "qk"])
def test_each_axis(file: Path, source: str) -> None:
    case = read(file)
    # The dot product is no part of these, so that they are stored once for both of its scales.
    out = case.group(f"out_{source}_noscale")
    for name, axis in zip("xy", axes_of(case, source), strict=True):
        query_place, key_place = axis.coordinate[..., None], axis.coordinate[..., None, :]
        logit = axis.order_query[..., None] + axis.order_key[..., None, :]
        expected = axis.distance_query[..., None] + axis.distance_key[..., None, :]
        assert_close(logit.sigmoid()[0], out[f"p_{name}"])
        assert_close(expected[0], out[f"mu_{name}"])
        assert_close(order_score(logit, query_place, key_place)[0], out[f"order_{name}"])
        assert_close(distance_score(expected, axis.theta[..., None], query_place, key_place)[0], out[f"dist_{name}"])


@CASES
@VARIANTS
def test_scores_probabilities_and_context(file: Path, source: str, scale: str) -> None:
    case = read(file)
    query, key, value = (heads_of(case, name) for name in "qkv")
    out, axes = case.group(f"out_{source}_{scale}"), axes_of(case, source)
    allowed = case.tensors.get("in/allowed", torch.ones(query.shape[2], query.shape[2])).bool()
    scores = query @ key.transpose(-1, -2) / (math.sqrt(query.shape[-1]) if scale == "scaled" else 1) + rich_scores(
        axes
    )
    assert_close(scores[0][:, allowed], out["scores"][:, allowed])
    probabilities = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
    assert_close(probabilities[0], out["probs"])
    assert_close((probabilities @ value)[0].transpose(0, 1).flatten(1), out["context"])


@CASES
@VARIANTS
def test_a_band_over_everything_has_the_same_scores(file: Path, source: str, scale: str) -> None:
    case = read(file)
    query, key = heads_of(case, "q"), heads_of(case, "k")
    length = query.shape[2]
    scores = torch.zeros(*query.shape[:2], 1, length, 3 * length, dtype=query.dtype)
    own = slice(length, 2 * length)
    scores[:, :, 0, :, own] = query @ key.transpose(-1, -2) / (math.sqrt(query.shape[-1]) if scale == "scaled" else 1)
    for axis in axes_of(case, source):
        scores = add_rich_scores(scores, axis, Band(length))
    allowed = case.tensors.get("in/allowed", torch.ones(length, length)).bool()
    assert_close(scores[0, :, 0, :, own][:, allowed], case.group(f"out_{source}_{scale}")["scores"][:, allowed])
