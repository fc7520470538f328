"""Import of the Skim-Attention release, and its error messages; tests/oracle compares numbers."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from layoutray import checkpoint
from layoutray.cli.main import main
from layoutray.errors import CheckpointError, InputError, RecipeError
from tests.releases.release import MODELS, SIZES, SKIM, read, release, rewrite, weights, write_release


@pytest.mark.parametrize("arch", MODELS)
def test_the_configuration_becomes_the_recipe(arch: str, tmp_path: Path) -> None:
    made = read(release(tmp_path, arch, transformers_version="4.5.1", num_skim_attention_heads=12))
    assert made.recipe.arch == arch
    assert made.recipe.model.items() >= SIZES[arch].items()
    assert (made.recipe.name, made.recipe.task.name, made.recipe.max_length) == (
        "theirs",
        "layout_labels",
        SIZES[arch]["max_length"],
    )
    assert made.provenance["imported_from"] == str(tmp_path / "theirs")


@pytest.mark.parametrize("arch", ["skimformer", "longskimformer"])
def test_a_masked_lm_head_makes_a_masked_lm_checkpoint(arch: str, tmp_path: Path) -> None:
    made = read(release(tmp_path, arch, num_labels=0))
    assert (made.recipe.task.name, made.labels) == ("masked_lm", ())


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        pytest.param(
            {"use_1d_positions": True}, {"layout": "1d", "contextualiser_layers": 0}, id="1d, its contextualiser unused"
        ),
        pytest.param({"degrade_2d_positions": True}, {"layout": "degraded"}, id="degraded"),
        pytest.param({"contextualize_2d_positions": False}, {"contextualiser_layers": 0}, id="no contextualiser"),
    ],
)
def test_variants_are_imported(settings: dict[str, Any], changes: dict[str, Any], tmp_path: Path) -> None:
    state = weights("skimformer", 3)
    if "use_1d_positions" in settings:
        state = {name: tensor for name, tensor in state.items() if "two_dim" not in name}
        for name, shape in (
            ("position_embeddings.weight", (40, 48)),
            ("LayerNorm.weight", (48,)),
            ("LayerNorm.bias", (48,)),
        ):
            state[f"skimformer.one_dim_pos_embeddings.{name}"] = torch.ones(shape)
    if "contextualize_2d_positions" in settings:
        state = {name: tensor for name, tensor in state.items() if "layout_encoder" not in name}
    made = read(write_release(tmp_path / "theirs", SKIM | settings, state))
    assert made.recipe.model.items() >= changes.items()


def test_overrides_set_what_the_configuration_lacks(tmp_path: Path) -> None:
    made = read(
        release(tmp_path),
        "model.layout=uniform",
        "model.contextualiser_mask=reference_parity",
        "max_length=24",
        "name=mine",
    )
    assert (made.recipe.model["layout"], made.recipe.model["contextualiser_mask"]) == ("uniform", "reference_parity")
    assert (made.recipe.name, made.recipe.max_length, made.recipe.model["max_length"]) == ("mine", 24, 40)
    with pytest.raises(RecipeError, match=r"unknown recipe key model\.hiden"):
        read(tmp_path / "theirs", "model.hiden=3")


@pytest.mark.parametrize(
    ("arch", "settings", "message"),
    [
        (
            "skimformer",
            {"model_type": "bert"},
            "model_type 'bert'; it must be one of skimformer, longskimformer, skimmingmask",
        ),
        ("skimformer", {"model_type": None}, "model_type None"),
        ("skimformer", {"hidden_size": None, "vocab_size": 60}, r"config\.json lacks hidden_size"),
        ("skimformer", {"hidden_act": "relu"}, "hidden_act 'relu'; skimformer supports only 'gelu'"),
        ("skimformer", {"layer_norm_eps": 1e-5}, "layer_norm_eps 1e-05; skimformer supports only 1e-12"),
        ("longskimformer", {"degrade_2d_positions": True}, "degrade_2d_positions True; longskimformer"),
        ("skimming_mask", {"top_k": 0}, "top_k is 0; it must be at least 1"),
        ("skimming_mask", {"core_model_type": "roberta"}, r"model\.core: .*'bert' or 'layoutlm', got 'roberta'"),
        ("skimformer", {"vocab_size": 61}, "vocab_size is 61 in .*, but 60 in the vocabulary"),
        ("skimformer", {"pad_token_id": 1}, "pad_token_id is 1 in .*, but 0 in the vocabulary"),
        ("skimformer", {"num_hidden_layers": 1}, r"unexpected skimformer\.encoder\.layer\.1\."),
        ("skimformer", {"hidden_size": 34}, r"classifier\.weight is \(3, 32\), the model needs \(3, 34\)"),
    ],
)
def test_unsupported_configurations_are_refused(
    arch: str, settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    folder = release(tmp_path, arch)
    rewrite(folder, **settings)
    with pytest.raises(InputError, match=message):
        read(folder)


def test_missing_and_unexpected_parameters_are_listed_by_the_releases_names(tmp_path: Path) -> None:
    state = weights("skimformer", 3)
    del state["skimformer.skim_attention.key.bias"]
    state |= {f"skimformer.extra.{number}": torch.ones(1) for number in range(10)}
    with pytest.raises(CheckpointError) as caught:
        read(write_release(tmp_path / "theirs", SKIM, state))
    extra = ", ".join(f"skimformer.extra.{number}" for number in range(8))
    assert str(caught.value).endswith(f": missing skimformer.skim_attention.key.bias; unexpected {extra} and 2 more")


def test_a_model_without_a_head_is_refused(tmp_path: Path) -> None:
    body = {name: tensor for name, tensor in weights("skimformer", 3).items() if not name.startswith("classifier")}
    with pytest.raises(CheckpointError, match=r"have no head \(classifier, cls\.predictions or lm_head\)"):
        read(write_release(tmp_path / "theirs", SKIM, body))


def test_the_command_writes_a_checkpoint_into_an_empty_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = release(tmp_path), tmp_path / "ours"
    call = ["import", "skim-attention", str(folder), str(out)]
    assert main([*call, "--dry-run"]) == 0
    assert json.loads(capsys.readouterr().out)["recipe"]["model"]["arch"] == "skimformer"
    assert not out.exists()
    assert main([*call, "--set", "model.layout=uniform"]) == 0
    assert "(skimformer, task layout_labels, labels label_0, label_1, label_2)" in capsys.readouterr().err
    assert checkpoint.load(out).recipe.model["layout"] == "uniform"
    assert main(call) == 1
    assert "is not empty" in capsys.readouterr().err
    assert main(["import", "folder", str(folder), str(out)]) == 1
    assert "no release called 'folder'; known: lambert, skim-attention, transformers" in capsys.readouterr().err
