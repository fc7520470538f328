"""Global-local attention against an independent computation of ETC's (architectures.md §3.2)."""

from pathlib import Path

import pytest
import torch
from torch.nn.functional import linear

from layoutray.nn.attention import split_heads
from layoutray.nn.global_local_attention import GlobalLocalAttention
from layoutray.nn.global_local_context import dense_probabilities
from tests.oracle.cases import files, read

TOLERANCE = 1e-10


@pytest.mark.parametrize("file", files("formnet/etc_attention*.safetensors"))
@torch.no_grad()
def test_long_and_global_outputs(file: Path) -> None:
    case = read(file)
    weights, out = case.group("w"), case.group("out")
    states = torch.cat([case.tensors["in/global"], case.tensors["in/long"]])[None]
    mask = case.tensors["in/long_mask"].bool()[None]
    attention = GlobalLocalAttention(
        states.shape[-1], case.facts["heads"], case.facts["radius"], clip=0, rich=None, dropout=0.0
    ).double()
    for name, projection in (("q", attention.query), ("k", attention.key), ("v", attention.value)):
        projection.weight.copy_(weights[f"W{name}"])
        projection.bias.copy_(weights[f"b{name}"])
    places = torch.zeros(*mask.shape, 2, dtype=torch.float64)
    probabilities = dense_probabilities(attention.attention_inputs(states, mask, places))
    by_matrix = (probabilities @ split_heads(attention.value(states), attention.heads)).transpose(1, 2).flatten(2)
    for context in (attention(states, mask, places, None), by_matrix):
        token, long = (
            linear(context[0, :1], weights["Wog"], weights["bog"]),
            linear(context[0, 1:], weights["Wol"], weights["bol"]),
        )
        torch.testing.assert_close(token, out["global"], atol=TOLERANCE, rtol=TOLERANCE)
        # What the reference has at padding is meaningless, as it says.
        torch.testing.assert_close(long[mask[0]], out["long"][mask[0]], atol=TOLERANCE, rtol=TOLERANCE)
