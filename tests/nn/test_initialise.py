import pytest
import torch
from torch import nn

from layoutray.nn.attention import SelfAttention
from layoutray.nn.initialise import initialise, initialise_as_fairseq


def test_weights_are_redrawn_as_in_bert() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Embedding(300, 100, padding_idx=0), nn.LayerNorm(100), nn.Linear(100, 200), nn.Linear(200, 10, bias=False)
    )
    for parameter in model.parameters():
        nn.init.constant_(parameter, 7.0)
    initialise(model, 768)
    words, norm, linear, unbiased = model
    for weight in (words.weight, linear.weight, unbiased.weight):
        assert weight.std().item() == pytest.approx(0.02, rel=0.1)
        assert weight.mean().item() == pytest.approx(0.0, abs=0.002)
    assert linear.bias.eq(0).all()
    assert norm.weight.eq(1).all()
    assert norm.bias.eq(0).all()


def test_narrow_models_have_larger_weights() -> None:
    torch.manual_seed(0)
    grown = []
    for width in (96, 768):
        linear = nn.Linear(width, width)
        initialise(linear, width)
        grown.append(linear(torch.randn(64, width)).std().item())
    assert grown[0] == pytest.approx(grown[1], rel=0.05)


def test_the_padding_row_is_drawn_like_other_rows() -> None:
    torch.manual_seed(0)
    words = nn.Embedding(10, 768, padding_idx=3)
    initialise(words, 768)
    assert words.weight[3].norm().item() == pytest.approx(0.02 * 768**0.5, rel=0.1)
    words(torch.tensor([3, 4])).sum().backward()
    assert words.weight.grad is not None
    assert words.weight.grad[3].eq(0).all()


def test_fairseqs_weights() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(300, 64, padding_idx=1), SelfAttention(64, 4, 0.0), nn.Linear(64, 10))
    linear = model[2].weight.clone()
    initialise_as_fairseq(model, 64)
    words, attention, _ = model
    assert words.weight[2:].std().item() == pytest.approx(64**-0.5, rel=0.1)
    assert not words.weight[1].any()
    limit = (6 / 128) ** 0.5
    for projection in (attention.query, attention.key, attention.value):
        assert projection.weight.abs().max().item() == pytest.approx(limit / 2**0.5, rel=0.01)
    assert attention.output.weight.abs().max().item() == pytest.approx(limit, rel=0.01)
    assert not attention.output.bias.any()
    assert torch.equal(model[2].weight, linear)
