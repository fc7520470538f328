"""Attention from a unit is what the model computes, word by word, over the windows that hold the unit."""

from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.measure.unit_attention import attention_from
from layoutray import checkpoint
from layoutray.batching.collate import collate
from layoutray.batching.examples import unlabelled
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.recipe import recipes
from tests.jobs import page, vocabulary


def untrained(arch: str = "skimformer", max_length: int = 128, **model: Any) -> Checkpoint:
    chosen = recipes.from_dict(
        {
            "name": "untrained",
            "task": {"name": "masked_lm"},
            "train": {"steps": 1},
            "model": {"arch": arch, "size": "tiny", **model},
            "max_length": max_length,
        }
    )
    return Checkpoint(
        recipe=chosen,
        labels=(),
        tokenizer=vocabulary(),
        model=checkpoint.build_model(chosen, vocabulary(), ()).eval(),
        metrics={},
        provenance={},
    )


def first_window(shown: Page, loaded: Checkpoint) -> set[int]:
    return set(unlabelled(shown, loaded.tokenizer, loaded.recipe.max_length)[0].word_index.tolist()) - {-1}


def seen_from_the_first_word(shown: Page, loaded: Checkpoint) -> set[int]:
    return set(np.flatnonzero(attention_from([0], shown, loaded).words).tolist())


@torch.no_grad()
@pytest.mark.parametrize("arch", ["skimformer", "longskimformer", "skimming_mask"])
def test_a_words_share_is_the_mean_over_heads_and_tokens_summed_over_its_tokens(arch: str) -> None:
    loaded, shown = untrained(arch), page(1)
    (example,) = unlabelled(shown, loaded.tokenizer, 128)
    matrix = loaded.model.encoder.skim(collate([example], loaded.tokenizer.pad_id))[0].numpy()
    asked = np.flatnonzero(np.isin(example.word_index, [2, 3]))
    expected = [matrix[:, asked][:, :, example.word_index == word].sum(-1).mean() for word in range(len(shown.words))]
    found = attention_from([2, 3], shown, loaded)
    np.testing.assert_allclose(found.words, expected, rtol=1e-5)
    assert (found.heads, found.tokens) == (4, len(asked))
    assert found.words.sum() + matrix[:, asked][:, :, [0, -1]].sum(-1).mean() == pytest.approx(1, abs=1e-5)


def test_words_of_other_windows_are_not_seen() -> None:
    shown, loaded = page(1), untrained(max_length=12)
    assert seen_from_the_first_word(shown, loaded) == first_window(shown, loaded)
    assert len(first_window(shown, loaded)) < len(shown.words)


def test_a_longskimformer_sees_its_band_alone() -> None:
    shown, loaded = page(1), untrained("longskimformer", window=8)
    assert {0} < seen_from_the_first_word(shown, loaded) < first_window(shown, loaded)


def test_a_unit_in_several_windows_is_averaged_over_all_its_tokens() -> None:
    loaded, shown = untrained(max_length=12), page(1)
    every = attention_from(range(len(shown.words)), shown, loaded)
    single = [attention_from([word], shown, loaded) for word in range(len(shown.words))]
    assert every.tokens == sum(one.tokens for one in single)
    np.testing.assert_allclose(every.words, sum(one.words * one.tokens for one in single) / every.tokens, rtol=1e-6)


@torch.no_grad()
def test_where_each_layer_attends_for_itself_the_last_is_drawn_or_the_one_asked_for() -> None:
    loaded, shown = untrained("formnet", attention="plain"), page(1)
    (example,) = unlabelled(shown, loaded.tokenizer, 128)
    batch, asked = collate([example], loaded.tokenizer.pad_id), np.flatnonzero(example.word_index == 2)
    for layer, drawn in ((0, 0), (1, 1), (None, 1)):
        matrix = loaded.model.encoder.attention(batch, drawn)[0].numpy()
        expected = [
            matrix[:, asked][:, :, example.word_index == word].sum(-1).mean() for word in range(len(shown.words))
        ]
        np.testing.assert_allclose(attention_from([2], shown, loaded, layer).words, expected, rtol=1e-5)


def test_a_layer_that_has_no_attention_of_its_own_is_refused() -> None:
    with pytest.raises(InputError, match="all layers of skimformer share one attention"):
        attention_from([0], page(1), untrained(), layer=1)
    with pytest.raises(
        InputError, match="layer is 2; it must be at least 0 and below the number of layers, which is 2"
    ):
        attention_from([0], page(1), untrained("formnet"), layer=2)


def test_an_architecture_without_it_is_refused_with_those_that_have_it() -> None:
    known = "formnet, longskimformer, skimformer, skimming_mask"
    with pytest.raises(
        InputError, match=f"^architecture hf does not provide its attention; use a checkpoint of {known}$"
    ):
        attention_from([0], page(1), untrained("hf"))
