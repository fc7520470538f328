"""The pointer against a computation token by token, with loops instead of tensors."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from layoutray.nn.decoder import Decoder
from layoutray.nn.pointer import run_lengths
from layoutray.tensors import Encoded, Mixture
from tests.nn.test_decoder import TEXTS, WIDTH, documents, small_decoder

POOLED = Mixture(
    torch.tensor([[[1, 0], [3, 2], [5, 4], [6, 0]], [[1, 0], [0, 0], [0, 0], [0, 0]]]), torch.full((2, 4, 2), 0.5)
)
"""Of seven tokens and of two; index 0 also stands for padding, and is the start token."""


def pooled() -> Encoded:
    whole = documents()
    states, mask = whole.states[:, :4], torch.tensor([[True] * 4, [True] + [False] * 3])
    return Encoded(states=states, mask=mask, origin=POOLED.tokens[..., 0], mixture=POOLED, words=whole.words)


def expected_runs(text: list[int], words: list[int]) -> list[int]:
    """For each token of `words`, how many of the last tokens of `text` stand directly before it."""
    runs: list[int] = []
    for place in range(len(words)):
        run = 0
        while run < min(4, place, len(text)) and words[place - 1 - run] == text[-1 - run]:
            run += 1
        runs.append(run)
    return runs


def expected(decoder: Decoder, encoded: Encoded, row: int, text: list[int], state: Tensor) -> list[float]:
    """P(w) after `text` by the equations, of `state` after the last layer."""
    pointer, table = decoder.pointer, decoder.word_embedding.weight
    assert pointer is not None
    assert encoded.words is not None
    words = encoded.words[row].tolist()
    groups = encoded.mixture.tokens[row] if encoded.mixture else encoded.origin[row][:, None]
    query, runs = pointer.query(state), expected_runs(text, words)
    scores: list[tuple[float, int, Tensor]] = []
    for number, group in enumerate(groups.tolist()):
        for place in group:
            if encoded.mask[row, number] and words[place] >= 0:
                key = pointer.key(encoded.states[row, number]) + math.sqrt(WIDTH) * table[words[place]]
                score = query @ (key + pointer.run.weight[runs[place]]) / math.sqrt(WIDTH) + 2 * runs[place]
                scores.append((math.exp(score), words[place], encoded.states[row, number]))
    total = sum(score for score, _, _ in scores)
    context = sum((score / total * read for score, _, read in scores), torch.zeros(WIDTH, dtype=state.dtype))
    copies = torch.sigmoid(pointer.gate(torch.cat([state, context])) + 1).item() if scores else 0.0
    chances = ((1 - copies) * (table @ state).softmax(0)).tolist()
    for score, word, _ in scores:
        chances[word] += copies * score / total
    return chances


@pytest.mark.parametrize("read", [documents, pooled])
@torch.no_grad()
def test_the_mixture_is_that_of_the_equations(read: type[Encoded]) -> None:
    decoder, encoded = small_decoder(copying="pointer").double(), read()
    encoded = replace(encoded, states=encoded.states.double())
    cache = decoder.start(encoded)
    states: list[Tensor] = []
    for layer in decoder.layers[-1:]:
        layer.register_forward_hook(lambda _module, _inputs, state: states.append(state))
    for place in range(TEXTS.shape[1]):
        logits, cache = decoder.step(TEXTS[:, place], cache)
        for row in range(2):
            want = expected(decoder, encoded, row, TEXTS[row, : place + 1].tolist(), states[-1][row, 0])
            assert logits[row].exp().tolist() == pytest.approx(want, abs=1e-12)
            assert sum(want) == pytest.approx(1)


@torch.no_grad()
def test_sources_are_the_places_of_the_largest_shares() -> None:
    decoder, encoded = small_decoder(copying="pointer"), documents()
    assert decoder.pointer is not None
    assert encoded.words is not None
    for bias, copies in ((30.0, True), (-30.0, False)):
        decoder.pointer.gate[2].bias.data.fill_(bias)
        following = torch.tensor([[4, 5, 6, 4, 9], [5, 4, 4, 4, 10]])
        places = decoder.sources(TEXTS, following, encoded)
        assert (places[1] >= 0).tolist() == [copies, copies, copies, copies, False]
        if copies:
            assert torch.equal(encoded.words.gather(1, places[:, :4]), following[:, :4])
            # 4 stands in two places; after 5 and 6, it continues the run of the second.
            assert places[0, 1:4].tolist() == [2, 3, 4]


@torch.no_grad()
def test_a_document_without_words_is_not_copied() -> None:
    decoder, encoded = small_decoder(copying="pointer"), documents()
    assert encoded.words is not None
    nothing = replace(encoded, words=torch.full_like(encoded.words, -1))
    logits = decoder(TEXTS, nothing)
    plain = small_decoder()
    plain.load_state_dict({name: part for name, part in decoder.state_dict().items() if "pointer" not in name})
    torch.testing.assert_close(logits, plain(TEXTS, nothing).log_softmax(-1))
    assert (decoder.sources(TEXTS, TEXTS, nothing) == -1).all()


def test_runs_end_at_other_tokens_and_after_four() -> None:
    words = torch.tensor([[-1, 7, 8, 9, 7, 8, 9, 6, 8, -1]])
    text = torch.tensor([[2, 7, 8, 9, 7, 8, 9, 6]])
    runs = run_lengths(text, words)[0]
    assert runs.tolist() == [expected_runs(text[0, : step + 1].tolist(), words[0].tolist()) for step in range(8)]
    assert runs[6].tolist() == [0, 0, 0, 0, 3, 0, 0, 4, 0, 0]


def test_the_loss_of_a_rare_copy_has_finite_gradients() -> None:
    decoder = small_decoder(copying="pointer").train()
    torch.nn.functional.cross_entropy(decoder(TEXTS, documents()).flatten(0, 1), torch.full((10,), 10)).backward()
    assert all(part.grad is not None and part.grad.isfinite().all() for part in decoder.parameters())
