"""What holds of every embedding that computes one vector per word."""

import pytest
import torch

from benchmarks.plugins.graph_embedding import GraphEmbedding
from benchmarks.plugins.word_bitmaps import BitmapEmbedding
from benchmarks.tests.word_vectors import words

Embedding = GraphEmbedding | BitmapEmbedding


@pytest.fixture(params=[GraphEmbedding, BitmapEmbedding])
def embedding(request: pytest.FixtureRequest) -> Embedding:
    torch.manual_seed(0)
    return request.param()


@torch.no_grad()
def test_tokens_of_a_word_are_equal_and_tokens_without_a_word_are_zeros(embedding: Embedding) -> None:
    boxes, index = words(8)
    found = embedding(boxes, index)
    assert found.shape == (1, 24, embedding.width)
    assert not found[index < 0].any()
    assert torch.equal(found[0, 1:17:2], found[0, 2:17:2])
    assert len({tuple(row) for row in found[0, 1:17:2].tolist()}) == 8, "different words have different vectors"


@torch.no_grad()
def test_other_windows_and_padding_do_not_matter(embedding: Embedding) -> None:
    (boxes, index), (others, their_index) = words(8), words(5)
    found = embedding(boxes, index)
    both = embedding(torch.cat([others, boxes]), torch.cat([their_index, index]))
    torch.testing.assert_close(both[1:], found)
    longer = embedding(torch.nn.functional.pad(boxes, (0, 0, 0, 9)), torch.nn.functional.pad(index, (0, 9), value=-1))
    torch.testing.assert_close(longer[:, :24], found)


@torch.no_grad()
def test_the_order_of_tokens_does_not_matter(embedding: Embedding) -> None:
    boxes, index = words(8)
    order = torch.cat(
        [torch.tensor([0]), 1 + torch.randperm(16, generator=torch.Generator().manual_seed(2)), torch.arange(17, 24)]
    )
    torch.testing.assert_close(embedding(boxes[:, order], index[:, order]), embedding(boxes, index)[:, order])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_words_give_no_nan_and_every_weight_gets_a_gradient(embedding: Embedding, count: int) -> None:
    found = embedding(*words(count))
    assert found.isfinite().all()
    found.pow(2).sum().backward()
    gradients = [parameter.grad for parameter in embedding.parameters()]
    assert all(gradient is not None and bool(gradient.any()) == bool(count) for gradient in gradients)
