from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import AutoModel

from layoutray.architectures.hf import ARCHITECTURE, PeerConfig
from layoutray.errors import InputError
from layoutray.tasks import TaskModel
from layoutray.tasks.masked_lm import MaskedLanguageModelHead
from tests.architectures.contract import CONTRACT, build, random_batch

TINY = ARCHITECTURE.sizes["tiny"]
MODEL_TYPES = pytest.mark.parametrize("model_type", ["bert", "roberta", "layoutlm", "lilt", "longformer"])


@MODEL_TYPES
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_every_peer_keeps(promise, model_type: str, tmp_path: Path) -> None:
    promise(ARCHITECTURE, replace(TINY, model_type=model_type), tmp_path)


@MODEL_TYPES
@torch.no_grad()
def test_only_layoutlm_and_lilt_look_at_boxes(model_type: str) -> None:
    encoder, batch = build(ARCHITECTURE, replace(TINY, model_type=model_type)).eval(), random_batch()
    same = torch.equal(encoder(batch).states, encoder(replace(batch, boxes=batch.boxes.flip(1))).states)
    assert same is (model_type not in ("layoutlm", "lilt"))


@pytest.mark.parametrize(("model_type", "millions"), [("bert", 109.5), ("layoutlm", 112.6)])
def test_base_has_the_published_size(model_type: str, millions: float) -> None:
    with torch.device("meta"):
        encoder = ARCHITECTURE.build(PeerConfig(model_type=model_type), vocab_size=30522, pad_id=0)
    pooler = 768 * 768 + 768
    assert (sum(parameter.numel() for parameter in encoder.parameters()) + pooler) / 1e6 == pytest.approx(
        millions, abs=0.05
    )


def test_at_a_width_that_six_divides_lilt_is_the_librarys_own() -> None:
    with torch.device("meta"):
        encoder = ARCHITECTURE.build(
            PeerConfig(model_type="lilt", hidden=96, heads=6, layers=2), vocab_size=50, pad_id=0
        )
        library = AutoModel.from_config(encoder.model.config, add_pooling_layer=False)
    assert {name: part.shape for name, part in encoder.model.named_parameters()} == {
        name: part.shape for name, part in library.named_parameters()
    }


def test_lilts_last_layout_stream_is_not_trained_and_its_attention_is() -> None:
    encoder = build(ARCHITECTURE, replace(TINY, model_type="lilt"))
    frozen = {name.rpartition(".")[0] for name, part in encoder.model.named_parameters() if not part.requires_grad}
    last = "encoder.layer.1."
    assert frozen == {
        f"{last}attention.self.layout_value",
        *(
            f"{last}{part}{end}"
            for part in ("attention.layout_output.", "layout_output.")
            for end in ("dense", "LayerNorm")
        ),
        f"{last}layout_intermediate.dense",
    }


def test_masked_language_model_head_is_tied_to_the_words() -> None:
    encoder = build(ARCHITECTURE, TINY)
    model = TaskModel(encoder, MaskedLanguageModelHead(encoder))
    model(random_batch()).backward()
    assert isinstance(encoder.word_embedding, nn.Embedding)
    assert "head.decoder.weight" not in dict(model.named_parameters())


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(InputError, match="heads is 7; it must divide hidden, which is 128"):
        replace(TINY, heads=7)
    with pytest.raises(
        InputError, match="hidden / heads is 2; it must be divisible by four: LiLT's layout heads have a quarter of it"
    ):
        replace(TINY, model_type="lilt", heads=64)
    with pytest.raises(InputError, match="window is 33; it must be even"):
        replace(TINY, model_type="longformer", window=33)


@torch.no_grad()
def test_a_longformer_with_a_wide_window_sees_everything_and_with_a_narrow_one_its_neighbours() -> None:
    batch = random_batch(24)
    other = replace(batch, input_ids=torch.cat([batch.input_ids[:, :-1], batch.input_ids[:, :1]], 1))
    for window, reached in ((64, True), (4, False)):
        encoder = build(ARCHITECTURE, replace(TINY, model_type="longformer", layers=2, window=window)).eval()
        assert torch.equal(encoder(batch).states[:, 0], encoder(other).states[:, 0]) is not reached
