"""New coordinate tables beside a trained BERT."""

from pathlib import Path
from typing import Any

import pytest

from layoutray import checkpoint
from layoutray.training.start import start_model
from tests.architectures.contract import random_batch
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
