"""New coordinate tables beside a trained BERT: their weights at first, and their learning rate."""

from pathlib import Path
from typing import Any

import pytest
import torch

from layoutray import checkpoint
from layoutray.errors import InputError
from layoutray.recipe import recipes
from layoutray.training.inputs import prepare
from layoutray.training.job import Job
from layoutray.training.start import start_model
from tests.architectures.contract import random_batch
from tests.jobs import elsewhere, job, recipe
from tests.training.runs import StopAfter, alone
from tests.training.test_start import (
    BERT,
    LAYOUTLM,
    SKIM_EMBEDDINGS,
    VOCABULARY,
    fresh,
    of,
    real_states,
    trained,
    words_of,
)


@pytest.mark.parametrize("model", [LAYOUTLM, SKIM_EMBEDDINGS], ids=["layoutlm", "skim_embeddings"])
def test_with_gentle_tables_an_encoder_reads_nearly_as_its_bert_at_first(model: dict[str, Any], tmp_path: Path) -> None:
    source, batch = trained(tmp_path, BERT), words_of(random_batch())
    read = real_states(checkpoint.load(source).model, batch)

    def change(**settings: str) -> float:
        chosen = of(model | settings)
        started = fresh(chosen).eval()
        start_model(started, chosen, VOCABULARY, [source])
        return float((real_states(started, batch) - read).norm() / read.norm())

    assert 0 < change(start="gentle") < 0.02
    assert change() > 0.2


def start_of_layoutlm(folder: Path, **train: float) -> Job:
    """A training of LayoutLM for 6 steps from a BERT that was trained on the same pages."""
    text = recipe("masked_lm", steps=2)
    parent = job(folder / "bert", recipes.from_dict(text.to_dict() | {"model": BERT}))
    alone(parent)
    chosen = recipe("masked_lm", vocabulary=str(parent.out), steps=6, checkpoint_every=3, **train)
    return job(folder / "layoutlm", recipes.from_dict(chosen.to_dict() | {"model": LAYOUTLM}), init=(str(parent.out),))


def test_a_factor_of_zero_keeps_new_tables_as_they_were_drawn(tmp_path: Path) -> None:
    started = start_of_layoutlm(tmp_path, new_parts_factor=0.0, weight_decay=0.0)
    before = prepare(started, 1).model.state_dict()
    alone(started)
    after = checkpoint.load(started.out).model.state_dict()
    assert {name for name, tensor in before.items() if torch.equal(tensor, after[name])} == {
        f"encoder.{name}" for name in prepare(started, 1).checked.fresh
    }


def test_a_training_with_a_factor_resumes_to_the_bit(tmp_path: Path) -> None:
    whole = start_of_layoutlm(tmp_path, new_parts_factor=10.0)
    series, halted = alone(whole), elsewhere(whole, tmp_path / "halted")
    alone(halted, also=StopAfter(5))
    rest = alone(halted, resume_from=halted.out / "state")
    assert rest["loss"] == series["loss"][3:]


def test_a_factor_without_a_start_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"train\.new_parts_factor is 10\.0, but without --init all parameters are new"
    ):
        prepare(job(tmp_path, recipe("masked_lm", new_parts_factor=10.0)), 1)
