"""`skim` returns the Skim-Attention that the layers use."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from layoutray import architectures
from layoutray.nn.local_attention import dense_matrix
from tests.architectures.contract import PADDING, build, padded, random_batch


def itself(attention: Tensor) -> Tensor:
    return attention


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "module", "matrix"),
    [
        ("skimformer", "skim_attention", itself),
        ("longskimformer", "skim_attention", dense_matrix),
        ("skimming_mask", "skimmer.skim_attention", itself),
    ],
)
def test_it_equals_the_attention_of_the_forward_pass(
    name: str, module: str, matrix: Callable[[Tensor], Tensor]
) -> None:
    architecture = architectures.load(name)
    encoder, batch = build(architecture, architecture.sizes["tiny"]).eval(), padded(random_batch())
    seen: list[Tensor] = []
    handle = encoder.get_submodule(module).register_forward_hook(lambda _module, _inputs, output: seen.append(output))
    encoder(batch)
    handle.remove()
    length = batch.input_ids.shape[1]
    assert torch.equal(encoder.skim(batch), matrix(seen[0])[..., :length, :length])


@torch.no_grad()
@pytest.mark.parametrize("name", ["skimformer", "longskimformer", "skimming_mask"])
def test_rows_of_real_tokens_sum_to_one_over_real_tokens_and_ignore_the_text(name: str) -> None:
    architecture = architectures.load(name)
    encoder, batch = build(architecture, architecture.sizes["tiny"]).eval(), padded(random_batch())
    attention = encoder.skim(batch)[:, :, :-PADDING]
    torch.testing.assert_close(attention.sum(-1), torch.ones(attention.shape[:-1]))
    assert not attention[..., -PADDING:].any()
    assert torch.equal(attention, encoder.skim(replace(batch, input_ids=batch.input_ids.flip(1)))[:, :, :-PADDING])
