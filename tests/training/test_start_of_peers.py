"""LayoutLMv3 and LiLT start from a trained text encoder and give its states until they have learned."""

from pathlib import Path

import pytest
import torch

from layoutray import checkpoint
from layoutray.errors import CheckpointError
from layoutray.training.start import start_model
from tests.architectures.contract import random_batch
from tests.training.test_start import BERT, KINDS, TEXT, VOCABULARY, fresh, of, trained, words_of


@pytest.mark.parametrize("core", ["roberta", "bert"])
def test_layoutlmv3_reads_as_its_roberta_or_bert(core: str, tmp_path: Path) -> None:
    kind = KINDS[core]
    chosen = of({"arch": "layoutlmv3", "core": core, **TEXT, **kind})
    source, model = trained(tmp_path, BERT | kind | {"model_type": core}), fresh(chosen).eval()
    left = start_model(model, chosen, VOCABULARY, [source])
    assert {name.partition(".")[0] for name in left} == {"boxes", "relative_bias"}
    for table in model.encoder.boxes.children():
        table.weight.data.zero_()
    batch = words_of(random_batch())
    torch.testing.assert_close(
        model.encoder(batch).states, checkpoint.load(source).model.encoder(batch).states, atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("core", ["roberta", "bert"])
def test_without_layout_lilt_gives_the_states_of_its_roberta_or_bert(core: str, tmp_path: Path) -> None:
    kind = KINDS[core]
    chosen = of({"arch": "hf", "model_type": "lilt", **TEXT, **kind})
    source, model = trained(tmp_path, BERT | kind | {"model_type": core}), fresh(chosen).eval()
    left = start_model(model, chosen, VOCABULARY, [source])
    assert left
    assert all("layout" in name for name in left)
    for layer in model.encoder.model.encoder.layer:
        layer.attention.self.layout_query.weight.data.zero_()
        layer.attention.self.layout_query.bias.data.zero_()
    batch = words_of(random_batch())
    torch.testing.assert_close(
        model.encoder(batch).states, checkpoint.load(source).model.encoder(batch).states, atol=1e-5, rtol=0
    )


def test_a_start_of_another_length_is_refused(tmp_path: Path) -> None:
    chosen = of({"arch": "hf", "model_type": "lilt", **TEXT, "max_length": 60})
    source = trained(tmp_path, BERT | {"max_length": 48})
    with pytest.raises(CheckpointError, match=r"position_embeddings\.weight is \(48, .*, the model needs \(61, "):
        start_model(fresh(chosen), chosen, VOCABULARY, [source])
