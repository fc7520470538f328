"""A word's vector depends on the words nearest to it."""

import torch

from benchmarks.plugins.graph_embedding import GraphEmbedding, nearest_words
from benchmarks.tests.word_vectors import words


def embedding() -> GraphEmbedding:
    torch.manual_seed(0)
    return GraphEmbedding()


def test_nearest_words_by_the_half_norm_with_ties_by_order() -> None:
    corners = torch.tensor([[[0.0, 0.0], [0.3, 0.3], [0.9, 0.0], [0.0, 0.0], [5.0, 5.0]]])
    there = torch.tensor([[True, True, True, True, False]])
    # √0.9 is less than 2 √0.3, though 0.9 is more than 0.6 and than 0.3 √2.
    assert nearest_words(corners, there)[0].tolist() == [
        [3, 2, 1, -1, -1],
        [0, 3, 2, -1, -1],
        [0, 3, 1, -1, -1],
        [0, 2, 1, -1, -1],
        [-1] * 5,
    ]


def test_nearest_words_equal_exhaustive_search() -> None:
    corners = torch.rand(1, 30, 2, generator=torch.Generator().manual_seed(4))
    found = nearest_words(corners, torch.ones(1, 30, dtype=torch.bool))[0].tolist()
    for word, place in enumerate(corners[0].tolist()):
        others = [other for other in range(30) if other != word]
        apart = [
            sum(abs(a - b) ** 0.5 for a, b in zip(place, corners[0, other].tolist(), strict=True)) ** 2
            for other in others
        ]
        assert found[word] == [other for _, other in sorted(zip(apart, others, strict=True))[:5]]


@torch.no_grad()
def test_each_network_equals_a_loop_over_neighbours() -> None:
    module, (boxes, index) = embedding(), words(8)
    states = [*boxes[0, 1:17:2]]
    apart = [[float((one - other)[:2].abs().sqrt().sum()) for other in states] for one in states]
    heard = [sorted((one for one in range(8) if one != word), key=apart[word].__getitem__)[:5] for word in range(8)]
    for network in (module.near, module.far):
        states = [network.blocks(states[word] + sum(states[one] for one in heard[word])) for word in range(8)]
    torch.testing.assert_close(module(boxes, index)[0, 1:17:2], torch.stack(states))


def test_autocast_changes_nothing() -> None:
    module, placed = embedding(), words(8)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(module(*placed), module(*placed))
        coarse = module(*placed)
    assert torch.equal(coarse, module(*placed))
