import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutray.nn.attention import SelfAttention, VisibleKeys, attention_probabilities, split_heads


def test_split_heads_keeps_a_heads_entries_together() -> None:
    states = torch.arange(12.0).reshape(1, 2, 6)
    heads = split_heads(states, 3)
    assert heads.shape == (1, 3, 2, 2)
    assert heads[0, 1].tolist() == [[2, 3], [8, 9]]


def test_probabilities_against_a_worked_example() -> None:
    query, key = torch.tensor([[[[2.0, 0, 0, 0]]]]), torch.tensor([[[[1.0, 0, 0, 0], [0, 5, 0, 0], [9, 9, 9, 9]]]])
    probabilities = attention_probabilities(query, key, torch.tensor([[True, True, False]]))
    first = torch.tensor(1.0).exp() / (torch.tensor(1.0).exp() + 1)  # scores 2/√4 = 1 and 0; the third key is hidden
    torch.testing.assert_close(probabilities, torch.tensor([[[[first, 1 - first, 0]]]]))


@given(data=st.data(), length=st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_rows_are_distributions_over_visible_keys(data: st.DataObject, length: int) -> None:
    torch.manual_seed(data.draw(st.integers(0, 1000)))
    mask = torch.tensor([data.draw(st.lists(st.booleans(), min_size=length, max_size=length))])
    probabilities = attention_probabilities(torch.randn(1, 2, length, 3) * 30, torch.randn(1, 2, length, 3) * 30, mask)
    torch.testing.assert_close(probabilities.sum(-1), torch.ones(1, 2, length))
    if mask.any():
        assert (probabilities[..., ~mask[0]] == 0).all()


@torch.no_grad()
def test_self_attention_equals_its_formula() -> None:
    torch.manual_seed(0)
    attention = SelfAttention(12, 3, 0.0).eval()
    states, mask = torch.randn(2, 5, 12), torch.tensor([[True] * 5, [True, True, True, False, False]])
    query, key, value = (
        split_heads(project(states), 3) for project in (attention.query, attention.key, attention.value)
    )
    context = attention_probabilities(query, key, mask) @ value
    expected = attention.output(context.transpose(1, 2).reshape(2, 5, 12))
    torch.testing.assert_close(attention(states, VisibleKeys.of_all_queries(mask)), expected)


@torch.no_grad()
def test_a_bias_is_added_to_scores_and_masked_keys_stay_masked() -> None:
    torch.manual_seed(0)
    attention = SelfAttention(12, 3, 0.0).eval()
    states, mask = torch.randn(2, 5, 12), torch.tensor([[True] * 5, [True, True, True, False, False]])
    masked = VisibleKeys.with_bias(torch.zeros(2, 3, 5, 5), mask)
    assert torch.equal(attention(states, masked), attention(states, VisibleKeys.of_all_queries(mask)))
    terms = torch.randn(2, 3, 5, 5) * 3
    query, key, value = (
        split_heads(project(states), 3) for project in (attention.query, attention.key, attention.value)
    )
    scores = (query @ key.transpose(-1, -2) / 2 + terms).masked_fill(~mask[:, None, None], -torch.inf)
    context = (scores.softmax(-1) @ value).transpose(1, 2).reshape(2, 5, 12)
    torch.testing.assert_close(attention(states, VisibleKeys.with_bias(terms, mask)), attention.output(context))
    nothing = VisibleKeys.with_bias(terms, torch.zeros_like(mask))
    with torch.autocast("cpu", torch.bfloat16):
        assert attention(states, nothing).isfinite().all()


def test_self_attention_drops_out_in_training_only() -> None:
    torch.manual_seed(0)
    attention = SelfAttention(8, 2, 0.5)
    states, scorer = torch.randn(1, 6, 8), VisibleKeys(torch.ones(1, 1, 1, 6, dtype=torch.bool))
    assert not torch.equal(attention(states, scorer), attention(states, scorer))
    attention.eval()
    assert torch.equal(attention(states, scorer), attention(states, scorer))
