"""Super-tokens know their neighbours, and nothing of other pages, padding or the order of words."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from layoutray.document.word_graph import word_neighbours
from layoutray.nn.super_tokens import GraphConvolution, SuperTokens, edge_features, node_features

WIDTH, LENGTH, WORDS = 16, 30, 12


@dataclass(frozen=True)
class Pages:
    """What `SuperTokens` is given."""

    states: Tensor
    boxes: Tensor
    word_index: Tensor
    neighbours: Tensor

    def through(self, module: SuperTokens) -> Tensor:
        return module(self.states, self.boxes, self.word_index, self.neighbours)


def pages(rows: int = 2, words: int = WORDS, length: int = LENGTH) -> Pages:
    """Words of one to three tokens between a start and an end token, and padding."""
    random = torch.Generator().manual_seed(rows)
    corners = torch.randint(0, 1001, (rows, words, 2, 2), generator=random).sort(dim=-2).values.flatten(-2)
    word_index = torch.full((rows, length), -1)
    for row in range(rows):
        repeats = torch.randint(1, 4, (words,), generator=random)
        pieces = torch.arange(words).repeat_interleave(repeats)[: length - 2]
        word_index[row, 1 : 1 + len(pieces)] = pieces
    nowhere = torch.nn.functional.pad(corners, (0, 0, 1, 0))
    boxes = nowhere.gather(1, (word_index + 1).unsqueeze(-1).expand(-1, -1, 4))
    neighbours = torch.stack([torch.from_numpy(word_neighbours(row.numpy())).long() for row in corners])
    return Pages(torch.randn(rows, length, WIDTH, generator=random), boxes, word_index, neighbours)


def super_tokens(layers: int = 2) -> SuperTokens:
    torch.manual_seed(0)
    return SuperTokens(WIDTH, layers, 0.0, 1e-5)


@torch.no_grad()
def test_all_tokens_of_a_word_have_its_state_and_others_zeros() -> None:
    given, found = pages(), pages().through(super_tokens())
    assert not found[given.word_index < 0].any()
    for row in range(2):
        states = [found[row, given.word_index[row] == word] for word in range(WORDS)]
        assert all((state == state[0]).all() for state in states if len(state))
        assert len({tuple(state[0].tolist()) for state in states if len(state)}) == sum(map(bool, map(len, states)))


@torch.no_grad()
def test_padding_and_other_pages_do_not_leak() -> None:
    module, given = super_tokens(), pages()
    found = given.through(module)
    alone = Pages(given.states[:1], given.boxes[:1], given.word_index[:1], given.neighbours[:1]).through(module)
    torch.testing.assert_close(alone, found[:1])
    pad = torch.nn.functional.pad
    longer = Pages(
        pad(given.states, (0, 0, 0, 5), value=7.0),
        pad(given.boxes, (0, 0, 0, 5)),
        pad(given.word_index, (0, 5), value=-1),
        pad(given.neighbours, (0, 0, 0, 3), value=-1),
    )
    torch.testing.assert_close(longer.through(module)[:, :LENGTH], found)
    assert not longer.through(module)[:, LENGTH:].any()


@torch.no_grad()
def test_the_order_of_words_does_not_matter() -> None:
    module, given = super_tokens(), pages()
    number = torch.randperm(WORDS, generator=torch.Generator().manual_seed(3))  # the new number of each word
    tokens = torch.randperm(LENGTH, generator=torch.Generator().manual_seed(4))
    renumbered = torch.cat([torch.tensor([-1]), number])
    lists = torch.empty_like(given.neighbours)
    lists[:, number] = renumbered[given.neighbours + 1]
    moved = Pages(
        given.states[:, tokens], given.boxes[:, tokens], renumbered[given.word_index + 1][:, tokens], lists.flip(-1)
    )
    torch.testing.assert_close(moved.through(module), given.through(module)[:, tokens])


def test_a_word_hears_of_words_as_far_as_there_are_layers() -> None:
    chain = torch.full((1, 6, 8), -1)
    for word in range(6):
        near = [other for other in (word - 1, word + 1) if 0 <= other < 6]
        chain[0, word, : len(near)] = torch.tensor(near)
    states = torch.randn(1, 6, WIDTH, requires_grad=True)
    boxes = torch.arange(6)[None, :, None] * 100 + torch.tensor([0, 0, 50, 20])
    super_tokens(layers=3)(states, boxes, torch.arange(6)[None], chain)[0, 0].pow(3).sum().backward()
    assert states.grad is not None
    assert states.grad[0].abs().sum(-1).bool().tolist() == [True] * 4 + [False] * 2


def test_every_parameter_gets_a_gradient() -> None:
    module = super_tokens(layers=3)
    pages().through(module).pow(3).sum().backward()
    assert [
        name for name, parameter in module.named_parameters() if parameter.grad is None or not parameter.grad.any()
    ] == []


def test_half_the_precision_costs_little_and_boxes_keep_theirs() -> None:
    module, given = super_tokens(), pages()
    exact = given.through(module)
    with torch.autocast("cpu", torch.bfloat16):
        coarse = Pages(given.states.bfloat16(), given.boxes, given.word_index, given.neighbours).through(module)
    torch.testing.assert_close(coarse.float(), exact, atol=0.1, rtol=0)
    coarse.float().pow(3).sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in module.parameters())


def test_a_convolution_is_its_equation() -> None:
    torch.manual_seed(1)
    layer, given = GraphConvolution(WIDTH, 0.0, 1e-5).double(), pages(1)
    states, neighbours = torch.randn(1, WORDS, WIDTH, dtype=torch.float64), given.neighbours.clone()
    neighbours[0, 5] = -1
    edges = torch.randn(1, WORDS, 8, 11, dtype=torch.float64)
    found = layer(states, edges, neighbours)[0]
    weight = torch.cat([layer.word.weight, layer.neighbour.weight, layer.edge.weight], 1)
    for word, row in enumerate(neighbours[0].tolist()):
        update = torch.zeros(WIDTH, dtype=torch.float64)
        if others := [(place, other) for place, other in enumerate(row) if other >= 0]:
            inputs = [torch.cat([states[0, word], states[0, other], edges[0, word, place]]) for place, other in others]
            inner = torch.stack([torch.nn.functional.gelu(weight @ one + layer.word.bias) for one in inputs])
            messages = layer.message(inner)
            update = (messages @ layer.query(states[0, word]) / WIDTH**0.5).softmax(0) @ messages
        torch.testing.assert_close(found[word], layer.join.norm(states[0, word] + update))
    torch.testing.assert_close(found[5], layer.join.norm(states[0, 5]))


@pytest.mark.parametrize("words", [0, 1])
def test_pages_of_one_word_and_of_none(words: int) -> None:
    found = pages(words=words).through(super_tokens())
    assert found.isfinite().all()
    assert found.any() == bool(words)


def test_boxes_without_width_have_finite_features() -> None:
    boxes = torch.tensor([[[0.5, 0.2, 0.5, 0.3], [0.5, 0.6, 0.5, 0.6], [0.1, 0.1, 0.3, 0.2]]])
    features = edge_features(boxes, torch.tensor([[[1, 2, -1], [0, -1, -1], [0, 1, -1]]]))
    torch.testing.assert_close(features[0, 0, 0, -3:], torch.tensor([100.0, 0.0, 400.0]))
    assert not features[0, 1, 1:].any()
    torch.testing.assert_close(node_features(boxes)[0, 2], torch.tensor([0.1, 0.1, 0.3, 0.2, 0.1, 0.2]))


def test_no_tensor_grows_with_the_square_of_the_words() -> None:
    largest: list[int] = []
    for words in (128, 256, 512):
        sizes: list[int] = []

        def note(saved: Tensor, sizes: list[int] = sizes) -> Tensor:
            sizes.append(saved.numel())
            return saved

        with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
            pages(1, words, 3 * words).through(super_tokens(layers=1)).sum().backward()
        largest.append(max(sizes))
    assert largest[2] < 2.1 * largest[1] < 4.5 * largest[0]
