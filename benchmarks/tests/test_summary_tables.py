import pytest
import torch

from benchmarks.papers.summary import ENCODERS, FROM_SCRATCH, PAPER_ROUGE, SCORERS, decoder_keys
from layoutray import architectures
from layoutray.recipe import recipes
from tests.architectures.contract import random_batch

ROWS = {**ENCODERS, **SCORERS}


def test_the_paper_has_scores_for_its_rows() -> None:
    assert PAPER_ROUGE.keys() == ROWS.keys() - {"Pyramidion"}  # of two layers on 2,048 tokens there is none


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_a_model_with_the_stated_number_of_decoder_keys(name: str) -> None:
    scratch = [f"{key}={value}" for key, value in FROM_SCRATCH.items()]
    settings = [f"model.{key}={value}" for key, value in ROWS[name].items()]
    chosen = recipes.load("finetune-scitldr", [*scratch, "model.block=16", "model.halvings=[1, 1]", *settings])
    assert chosen.model.items() >= ROWS[name].items()
    with torch.no_grad():
        encoder = architectures.load("pyramidion").build(chosen.arch_config, vocab_size=200, pad_id=0)
        encoded = encoder.eval()(random_batch(64))
    assert encoded.mask.sum(1).tolist() == [decoder_keys(ROWS[name], 64, 2)] * 2
