"""A word is selected where one of its tokens weighs most."""

import numpy as np
import pytest
import torch

from layoutray.inference.selection import SelectedWord, Selection, selections
from layoutray.tensors import Encoded, Mixture

WORDS = np.array([-1, 0, 0, 1, 2, 3, 3, -1])


def encoded(tokens: list[list[int]], weights: list[list[float]], kept: int) -> Encoded:
    mask = (torch.arange(len(tokens)) < kept)[None]
    return Encoded(
        states=torch.zeros(1, len(tokens), 2),
        mask=mask,
        origin=torch.zeros_like(mask, dtype=torch.long),
        mixture=Mixture(torch.tensor([tokens]), torch.tensor([weights])),
    )


def test_states_are_counted_and_weights_summed_up_by_word() -> None:
    given = encoded([[1, 4], [3, 2], [7, 5], [6, 0]], [[0.75, 0.25], [0.5, 0.5], [0.875, 0.125], [0.0, 0.0]], kept=3)
    (found,) = selections(given, [WORDS])
    assert found == Selection(3, 4, (SelectedWord(0, 1, 0.75), SelectedWord(1, 1, 0.5))), (
        "the third state is of the end, the fourth of padding"
    )


def test_two_tokens_of_a_word_are_one_word() -> None:
    (found,) = selections(
        encoded([[1, 4], [3, 2], [5, 6], [0, 7]], [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5], [1.0, 0.0]], kept=4), [WORDS]
    )
    assert [(word.number, word.states, pytest.approx(word.weight)) for word in found.words] == [
        (0, 2, 1.5),
        (3, 1, 0.5),
    ]
    assert found.kept == 4
