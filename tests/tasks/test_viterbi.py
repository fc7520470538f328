"""Viterbi: the best legal sequence for any order of the labels, fast for pages of any length."""

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.document.tags import spans, to_bioes
from layoutray.errors import InputError
from layoutray.tasks.entities_bioes import best_legal

LABELS = ("O", "B-a", "I-a", "E-a", "S-a", "B-b", "I-b", "E-b", "S-b")


def is_legal(tags: tuple[str, ...]) -> bool:
    """Legal BIOES is what writing its own entities gives back."""
    return to_bioes(spans(tags), len(tags)) == list(tags)


@given(st.integers(0, 4), st.permutations(LABELS), st.integers(0, 2**32 - 1))
def test_no_legal_sequence_is_better(length: int, labels: list[str], seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(length, 9))
    path, score = best_legal(scores, labels)
    totals = {
        chosen: scores[range(length), chosen].sum()
        for chosen in product(range(9), repeat=length)
        if is_legal(tuple(labels[number] for number in chosen))
    }
    best = max(totals, key=lambda chosen: totals[chosen])
    assert score == pytest.approx(totals[best], abs=1e-10)
    assert tuple(path) == best


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_long_sequences_are_legal_too(length: int, seed: int) -> None:
    path, _ = best_legal(np.random.default_rng(seed).normal(size=(length, 9)).astype(np.float32), LABELS)
    assert is_legal(tuple(LABELS[number] for number in path))


def test_a_constant_per_word_changes_nothing() -> None:
    scores = np.random.default_rng(0).normal(size=(50, 9))
    assert (best_legal(scores, LABELS)[0] == best_legal(scores + np.arange(50)[:, None], LABELS)[0]).all()


def test_twenty_thousand_words_take_seconds_at_most() -> None:
    labels = ["O", *(f"{prefix}-{kind}" for kind in range(30) for prefix in "BIES")]
    scores = np.random.default_rng(0).normal(size=(20_000, len(labels))).astype(np.float32)
    start = time.process_time()
    best_legal(scores, labels)
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        (np.zeros((3, 2)), LABELS, r"shape \(3, 2\), expected \(words, 9\)"),
        (np.zeros((3, 1)), ["paragraph"], "'paragraph' is neither IOB2 nor BIOES"),
        (
            np.zeros((1, 3)),
            ["B-a", "I-a", "E-a"],
            "no BIOES sequence of 1 words has a finite score under the labels B-a, I-a, E-a",
        ),
        (np.full((2, 9), -np.inf), LABELS, "no BIOES sequence of 2 words has a finite score"),
    ],
)
def test_what_cannot_be_decoded_is_refused(scores: np.ndarray, labels: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        best_legal(scores, labels)
