"""Fast dropout has the probabilities of torch's."""

import pytest
import torch
from torch import nn

from layoutray.nn.attention import SelfAttention, VisibleKeys
from layoutray.nn.dropout import FastDropout, use_fast_dropout

COUNT = 1 << 20


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_it_drops_with_its_probability_and_keeps_the_mean(probability: float) -> None:
    torch.manual_seed(0)
    dropped = FastDropout(probability)(torch.ones(COUNT))
    assert float((dropped == 0).float().mean()) == pytest.approx(probability, abs=0.002)
    assert float(dropped.mean()) == pytest.approx(1, abs=0.003)
    assert dropped.unique().numel() == 2
    assert float(dropped.max()) == pytest.approx(1 / (1 - probability), rel=1e-4)


def test_neighbouring_numbers_are_independent() -> None:
    torch.manual_seed(0)
    kept = (FastDropout(0.5)(torch.ones(COUNT)) > 0).float() - 0.5
    for lag in (1, 2, 3, 4, 64):
        assert abs(float((kept[:-lag] * kept[lag:]).mean())) < 0.25 * 0.005, lag


def test_the_gradient_is_dropped_where_the_input_is() -> None:
    states = torch.ones(7, 33, requires_grad=True)  # no multiple of four
    dropped = FastDropout(0.3)(states)
    dropped.sum().backward()
    assert states.grad is not None
    assert torch.equal(states.grad, dropped.detach())


def test_the_seed_of_torch_determines_it() -> None:
    def draw(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        dropout = FastDropout(0.5)
        return torch.stack([dropout(torch.ones(64)), dropout(torch.ones(64))])

    first = draw(1)
    assert torch.equal(first, draw(1))
    assert not torch.equal(first, draw(2))
    assert not torch.equal(first[0], first[1])


def test_nothing_is_dropped_in_evaluation() -> None:
    assert torch.equal(FastDropout(0.5).eval()(torch.ones(9)), torch.ones(9))


def test_a_model_gets_it_everywhere_and_keeps_its_weights() -> None:
    layer = nn.Sequential(SelfAttention(8, 2, 0.5), nn.Dropout(0.1))
    names = list(layer.state_dict())
    use_fast_dropout(layer)
    kinds = {type(part) for part in layer.modules() if isinstance(part, nn.Dropout)}
    assert kinds == {FastDropout}
    assert list(layer.state_dict()) == names


@pytest.mark.parametrize("masked", [False, True])
def test_attention_with_fast_dropout_is_unbiased(masked: bool) -> None:
    torch.manual_seed(0)
    attention, states = SelfAttention(8, 2, 0.5), torch.randn(1, 5, 8)
    scorer = VisibleKeys(torch.tensor([[[[True, True, True, True, not masked]]]]))
    use_fast_dropout(attention)
    with torch.no_grad():
        expected = attention.eval()(states, scorer)
        mean = attention.train()(states.expand(4000, -1, -1), scorer).mean(0, keepdim=True)
    torch.testing.assert_close(mean, expected, atol=0.03, rtol=0)
