"""Beam search against exhaustive search, and greedy search against a loop."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch

from layoutray.errors import InputError
from layoutray.nn.beam_search import BeamSearchSettings, beam_search
from layoutray.tensors import Encoded
from tests.nn.test_decoder import COPYING, PAD, Copying, documents, small_decoder

START, END = 2, 3


def search(**changes: Any) -> BeamSearchSettings:
    return BeamSearchSettings(**({"start_id": START, "end_id": END, "max_length": 3} | changes))


def decoder_of(words: int, copying: Copying = "none") -> Any:
    """A decoder with a vocabulary of `words` tokens, whose logits clearly differ."""
    decoder = small_decoder(copying=copying)
    decoder.word_embedding.weight.data = decoder.word_embedding.weight.data[:words].mul_(0.7)
    return decoder


def documents_of(words: int) -> Encoded:
    """Two documents of the same vocabulary."""
    encoded = documents()
    assert encoded.words is not None
    return replace(encoded, words=encoded.words.masked_fill(encoded.words >= words, words - 1))


@torch.no_grad()
def sums(decoder: Any, encoded: Encoded, text: tuple[int, ...]) -> list[float]:
    """Cumulative log-probabilities of a text of the first document, end token included, by teacher forcing."""
    words = torch.tensor([[START, *text]])
    chances = decoder(words, encoded)[0].log_softmax(-1)
    return list(itertools.accumulate(float(chances[place, word]) for place, word in enumerate((*text, END))))


def score(decoder: Any, encoded: Encoded, text: tuple[int, ...], penalty: float) -> float:
    return sums(decoder, encoded, text)[-1] / (len(text) + 1) ** penalty


def only(encoded: Encoded, row: int) -> Encoded:
    assert encoded.words is not None
    parts = (encoded.states, encoded.mask, encoded.origin, encoded.words)
    states, mask, origin, words = (part[row : row + 1] for part in parts)
    return Encoded(states=states, mask=mask, origin=origin, words=words)


@pytest.mark.parametrize(
    ("penalty", "shortest"),
    [(0.0, 0), (2.0, 2)]
    + [pytest.param(*other, marks=pytest.mark.slow) for other in ((0.0, 2), (1.0, 0), (1.0, 2), (2.0, 0))],
)
@COPYING
def test_with_enough_beams_it_finds_the_best_of_all_texts(penalty: float, shortest: int, copying: Copying) -> None:
    decoder, encoded, vocabulary = decoder_of(5, copying), documents_of(5), [0, 2, 4]
    wanted = search(min_length=shortest, beams=40, length_penalty=penalty)
    found = beam_search(decoder, encoded, wanted)
    for row in range(2):
        texts = [text for length in range(shortest, 4) for text in itertools.product(vocabulary, repeat=length)]
        expected = sorted(((score(decoder, only(encoded, row), text, penalty), text) for text in texts), reverse=True)
        assert len(expected) <= wanted.beams
        for place, (value, text) in enumerate(expected):
            assert found.scores[row, place].item() == pytest.approx(value, abs=1e-5)
            rest = 3 - len(text)
            assert found.tokens[row, place].tolist() == [*text, *[PAD] * rest]
            assert found.log_probabilities[row, place].tolist() == pytest.approx(
                [*sums(decoder, only(encoded, row), text), *[0] * rest], abs=1e-5
            )
        assert found.scores[row, len(expected) :].isneginf().all()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_with_enough_beams_it_finds_the_best_text_without_repeats(size: int) -> None:
    def repeats(text: tuple[int, ...]) -> bool:
        runs = [text[at : at + size] for at in range(len(text) - size + 1)]
        return len(runs) > len({*runs})

    decoder, encoded = decoder_of(5), documents()
    found = beam_search(decoder, encoded, search(max_length=4, beams=130, no_repeat=size))
    for row in range(2):
        texts = [text for length in range(5) for text in itertools.product([0, 2, 4], repeat=length)]
        expected = sorted(
            ((score(decoder, only(encoded, row), text, 1.0), text) for text in texts if not repeats(text)), reverse=True
        )
        assert len(expected) < len(texts)
        assert found.scores[row].isfinite().sum() == len(expected)
        assert [words[words != PAD].tolist() for words in found.tokens[row, : len(expected)]] == [
            [*text] for _, text in expected
        ]


@COPYING
@torch.no_grad()
def test_one_beam_is_greedy(copying: Copying) -> None:
    decoder, encoded = small_decoder(copying=copying), documents(4)
    found = beam_search(decoder, encoded, search(max_length=12, min_length=2))
    for row in range(4):
        text = [START]
        for length in range(12):
            logits = decoder(torch.tensor([text]), only(encoded, row))[0, -1]
            logits[[PAD, END] if length < 2 else [PAD]] = -torch.inf
            if (word := int(logits.argmax())) == END:
                break
            text.append(word)
        assert found.tokens[row, 0].tolist() == [*text[1:], *[PAD] * (13 - len(text))]


@COPYING
def test_a_batch_gives_the_results_of_its_documents(copying: Copying) -> None:
    decoder, encoded = small_decoder(copying=copying), documents(3)
    together = beam_search(decoder, encoded, search(max_length=8, beams=3))
    for row in range(3):
        alone = beam_search(decoder, only(encoded, row), search(max_length=8, beams=3))
        assert torch.equal(alone.tokens[0], together.tokens[row])
        torch.testing.assert_close(alone.scores[0], together.scores[row])


def test_more_beams_find_texts_at_least_as_probable() -> None:
    decoder, encoded = small_decoder(), documents(3)
    best = [
        beam_search(decoder, encoded, search(max_length=6, min_length=6, beams=beams)).scores[:, 0]
        for beams in (1, 2, 8, 32)
    ]
    assert all((after >= before - 1e-6).all() for before, after in itertools.pairwise(best))


def test_minimum_and_maximum_length_are_respected() -> None:
    exact = beam_search(small_decoder(), documents(3), search(max_length=5, min_length=5, beams=2)).tokens
    assert ((exact != PAD) & (exact != END)).all()


def test_a_search_without_beams_is_refused() -> None:
    with pytest.raises(InputError, match="beams is 0; it must be at least 1"):
        search(beams=0)
