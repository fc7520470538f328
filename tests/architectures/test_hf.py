from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from layoutray.architectures.hf import ARCHITECTURE, PeerConfig
from layoutray.errors import InputError
from layoutray.tasks import TaskModel
from layoutray.tasks.masked_lm import MaskedLanguageModelHead
from tests.architectures.contract import CONTRACT, build, random_batch

TINY = ARCHITECTURE.sizes["tiny"]
MODEL_TYPES = pytest.mark.parametrize("model_type", ["bert", "roberta", "layoutlm", "longformer"])


@MODEL_TYPES
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_every_peer_keeps(promise, model_type: str, tmp_path: Path) -> None:
    promise(ARCHITECTURE, replace(TINY, model_type=model_type), tmp_path)


@MODEL_TYPES
@torch.no_grad()
def test_only_layoutlm_looks_at_boxes(model_type: str) -> None:
    encoder, batch = build(ARCHITECTURE, replace(TINY, model_type=model_type)).eval(), random_batch()
    same = torch.equal(encoder(batch).states, encoder(replace(batch, boxes=batch.boxes.flip(1))).states)
    assert same is (model_type != "layoutlm")


@pytest.mark.parametrize(("model_type", "millions"), [("bert", 109.5), ("layoutlm", 112.6)])
def test_base_has_the_published_size(model_type: str, millions: float) -> None:
    with torch.device("meta"):
        encoder = ARCHITECTURE.build(PeerConfig(model_type=model_type), vocab_size=30522, pad_id=0)
    pooler = 768 * 768 + 768
    assert (sum(parameter.numel() for parameter in encoder.parameters()) + pooler) / 1e6 == pytest.approx(millions, abs=0.05)


def test_masked_language_model_head_is_tied_to_the_words() -> None:
    encoder = build(ARCHITECTURE, TINY)
    model = TaskModel(encoder, MaskedLanguageModelHead(encoder))
    model(random_batch()).backward()
    assert isinstance(encoder.word_embedding, nn.Embedding)
    assert "head.decoder.weight" not in dict(model.named_parameters())


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(InputError, match="heads is 7; it must divide hidden, which is 128"):
        replace(TINY, heads=7)
    with pytest.raises(InputError, match="window is 33; it must be even"):
        replace(TINY, model_type="longformer", window=33)


@torch.no_grad()
def test_a_longformer_with_a_wide_window_sees_everything_and_with_a_narrow_one_its_neighbours() -> None:
    batch = random_batch(24)
    other = replace(batch, input_ids=torch.cat([batch.input_ids[:, :-1], batch.input_ids[:, :1]], 1))
    for window, reached in ((64, True), (4, False)):
        encoder = build(ARCHITECTURE, replace(TINY, model_type="longformer", layers=2, window=window)).eval()
        assert torch.equal(encoder(batch).states[:, 0], encoder(other).states[:, 0]) is not reached
