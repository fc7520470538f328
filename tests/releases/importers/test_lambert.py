"""Import of LAMBERT's release under any of its parameter names; tests/oracle compares numbers."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from layoutray import architectures
from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError, InputError
from layoutray.releases import importers
from layoutray.releases.importers.lambert import name_table
from layoutray.tasks import TaskModel
from layoutray.tasks.word_labels import TokenClassificationHead
from tests.releases.release import rewrite, write_release
from tests.releases.reverse_import import state_to_theirs

SETTINGS = {
    "model_type": "roberta",
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 42,
    "type_vocab_size": 1,
    "vocab_size": 220,
    "pad_token_id": 1,
    "layer_norm_eps": 1e-5,
}
RELEASED = {"winding": "released", "layout_joins": "after_norm", "position_dropout": "none", "relative_bias": "buckets"}
OURS = RELEASED | {"hidden": 32, "layers": 1, "heads": 2, "feed_forward": 64, "max_length": 40}


def state(body: str) -> dict[str, Tensor]:
    """Random weights under one name each: prefix `lambert.` for a model with classifier, none for an encoder."""
    architecture = architectures.load("lambert")
    torch.manual_seed(5)
    encoder = architecture.build(architecture.config(**OURS), vocab_size=220, pad_id=1)
    torch.nn.init.normal_(encoder.relative_bias.vertical.weight)
    model = TaskModel(encoder, TokenClassificationHead(32, 3, 0.1))
    return state_to_theirs(name_table(frozenset([body])), model.state_dict())


def read(folder: Path, *overrides: str) -> Checkpoint:
    return importers.load("lambert")(folder, overrides)


@pytest.mark.parametrize(
    ("body", "name", "others"),
    [
        ("lambert.", "roberta.encoder.layer.0.output.dense.bias", ("lambert.encoder.{}", "roberta.roberta.encoder.{}")),
        (
            "lambert.",
            "roberta.embeddings.LayerNorm.weight",
            ("lambert.embeddings.roberta_embs.{}", "roberta.roberta.embeddings.{}"),
        ),
        ("", "roberta.encoder.layer.0.output.dense.bias", ("encoder.{}",)),
    ],
)
def test_a_tensor_is_found_under_any_of_its_names_and_under_all(
    body: str, name: str, others: tuple[str, ...], tmp_path: Path
) -> None:
    whole = state(body)
    if not body:
        whole = {theirs: tensor for theirs, tensor in whole.items() if "classifier" not in theirs}
    rest = name.split(".", 2)[2]
    names = [f"{body}{name}", *(other.format(rest) for other in others)]
    tensor = whole.pop(names[0])
    expected = read(write_release(tmp_path / "one", SETTINGS, whole | {names[0]: tensor})).model.state_dict()
    for number, given in enumerate([names[1:2], names[-1:], names]):
        made = read(write_release(tmp_path / str(number), SETTINGS, whole | {each: tensor.clone() for each in given}))
        assert all(torch.equal(tensor, expected[each]) for each, tensor in made.model.state_dict().items())
    with pytest.raises(CheckpointError, match=r"differs from .*; in the release, both are the same tensor"):
        read(write_release(tmp_path / "two", SETTINGS, whole | {names[0]: tensor, names[-1]: tensor + 1}))


def test_the_configuration_becomes_the_released_variant(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "theirs", SETTINGS, state("lambert."))
    made = read(folder)
    assert made.recipe.model.items() >= OURS.items()
    assert (made.recipe.task.name, made.labels, made.recipe.max_length) == (
        "layout_labels",
        ("label_0", "label_1", "label_2"),
        40,
    )
    assert made.provenance["fresh"] == ["encoder.position_dropout.share"]
    assert made.model.state_dict()["encoder.position_dropout.share"] == 0, "positions are there"


def test_an_encoder_alone_gets_a_new_masked_lm_head(tmp_path: Path) -> None:
    body = {name: tensor for name, tensor in state("").items() if "classifier" not in name} | {
        "pooler.dense.bias": torch.zeros(32)
    }
    made = read(write_release(tmp_path / "theirs", SETTINGS, body))
    assert made.recipe.task.name == "masked_lm"
    assert "head.dense.weight" in made.provenance["fresh"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "bert"}, "model_type 'bert'; lambert supports only 'roberta'"),
        (
            {"max_position_embeddings": "many"},
            "max_position_embeddings 'many' and pad_token_id 1; both must be integers",
        ),
        ({"layout_base": 100}, "layout_base 100; lambert supports only 500"),
        ({"max_position_embeddings": 60}, r"position_embeddings\.weight is \(42, 32\), the model needs \(60, 32\)"),
    ],
)
def test_unsupported_settings_are_refused(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = write_release(tmp_path / "theirs", SETTINGS, state("lambert."))
    rewrite(folder, **settings)
    with pytest.raises(InputError, match=message):
        read(folder)
