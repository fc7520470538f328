"""LayoutLMv3 and DocPolarBERT start from a trained text encoder and read as it does, until they have learned places."""

from pathlib import Path

import pytest
import torch

from layoutray import checkpoint
from layoutray.training.start import start_model
from tests.architectures.contract import random_batch
from tests.training.test_start import BERT, KINDS, TEXT, VOCABULARY, fresh, of, trained, words_of


@pytest.mark.parametrize("core", ["roberta", "bert"])
@pytest.mark.parametrize(
    ("arch", "new"), [("layoutlmv3", ("boxes", "relative_bias")), ("docpolarbert", ("relative_keys",))]
)
def test_they_read_as_their_roberta_or_bert(arch: str, new: tuple[str, ...], core: str, tmp_path: Path) -> None:
    kind = KINDS[core]
    chosen = of({"arch": arch, "core": core, **TEXT, **kind})
    source, model = trained(tmp_path, BERT | kind | {"model_type": core}), fresh(chosen).eval()
    left = start_model(model, chosen, VOCABULARY, [source])
    assert {name.partition(".")[0] for name in left} == set(new)
    if arch == "layoutlmv3":
        for table in model.encoder.boxes.children():
            table.weight.data.zero_()
    batch = words_of(random_batch())
    torch.testing.assert_close(
        model.encoder(batch).states, checkpoint.load(source).model.encoder(batch).states, atol=1e-5, rtol=0
    )
