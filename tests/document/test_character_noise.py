"""Character errors have the stated rate, and change nothing but texts."""

from dataclasses import replace

import pytest
from rapidfuzz.distance import Levenshtein

from layoutray.evaluation.measurement import noisy
from tests.jobs import page


def test_the_share_of_changed_characters_is_the_rate() -> None:
    words = tuple(replace(page(0).words[0], text="Rechnungsnummer 2024/117") for _ in range(400))
    whole = replace(page(0), words=words)
    for rate in (0.05, 0.1):
        changed = noisy(whole, rate)
        errors = sum(
            Levenshtein.distance(one.text, other.text) for one, other in zip(whole.words, changed.words, strict=True)
        )
        # A replacement by the same letter, and two neighbouring changes that undo each other, are no errors.
        assert errors / sum(len(word.text) for word in words) == pytest.approx(rate, rel=0.15)


def test_only_texts_change_and_no_word_becomes_empty() -> None:
    clean = page(3)
    changed = noisy(clean, 1.0)
    assert all(word.text for word in changed.words)
    assert [word.text for word in changed.words] != [word.text for word in clean.words]
    restored = tuple(replace(word, text=old.text) for word, old in zip(changed.words, clean.words, strict=True))
    assert replace(changed, words=restored) == clean


def test_the_same_page_gets_the_same_errors_and_other_pages_other_ones() -> None:
    clean = page(3)
    assert noisy(clean, 0.3) == noisy(clean, 0.3)
    assert noisy(replace(clean, number=2), 0.3).words != noisy(clean, 0.3).words
    assert noisy(clean, 0.0) is clean
    assert noisy(replace(clean, words=()), 0.3).words == ()
