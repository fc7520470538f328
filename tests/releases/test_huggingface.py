"""Exported folders give the checkpoint's logits: in the transformers library alone, with layoutray, and imported."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM, AutoModelForTokenClassification, AutoTokenizer

from layoutray import architectures, auto_classes, config
from layoutray.checkpoint import Checkpoint
from layoutray.cli.main import main
from layoutray.releases import importers
from layoutray.tasks.model import TaskModel
from layoutray.tensors import Batch
from tests import fork_server
from tests.releases import library_alone
from tests.releases.exported import BOXES, ENTITIES, LABELS, SIZE, WORDS, batch, export, make

NO_LAYOUT = {"arch": "lambert", "layout": "none", "relative_bias": "none"}
LIBRARY: dict[str, dict[str, Any]] = {
    "bert": {"arch": "hf"},
    "roberta": {"arch": "hf", "model_type": "roberta"},
    "layoutlm": {"arch": "hf", "model_type": "layoutlm"},
    "lilt": {"arch": "hf", "model_type": "lilt", "hidden": 96, "heads": 6},
    "longformer": {"arch": "hf", "model_type": "longformer"},
    "layoutlmv3": {"arch": "layoutlmv3", "core": "roberta"},
    "layoutlmv3-bert": {"arch": "layoutlmv3", "core": "bert", "relative_bias": "scaled", "segments": 2},
    "lambert-bert": NO_LAYOUT | {"core": "bert"},
    "lambert-roberta": NO_LAYOUT | {"core": "roberta"},
}
OURS: dict[str, dict[str, Any]] = {
    "lambert": {"arch": "lambert"},
    "formnet": {"arch": "formnet"},
    "skimformer": {"arch": "skimformer"},
    "longskimformer": {"arch": "longskimformer"},
    "skim_embeddings": {"arch": "skim_embeddings"},
    "skimming_mask": {"arch": "skimming_mask"},
    "lilt-128": {"arch": "hf", "model_type": "lilt"},
}


@pytest.fixture(scope="module")
def library_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Checkpoint, Path]]:
    """Each checkpoint and its exported folder, with the outputs of a process that cannot import layoutray."""
    root = tmp_path_factory.mktemp("library")
    made = {name: (make(root / name, model), export(root / name)) for name, model in LIBRARY.items()}
    alone = fork_server.start(library_alone.label, WORDS, BOXES, [str(folder) for _, folder in made.values()])
    assert fork_server.exit_code(alone) == 0
    return made


@torch.no_grad()
def logits(model: TaskModel, given: Batch) -> torch.Tensor:
    return model.scores(given)[1]


@pytest.mark.parametrize("name", LIBRARY)
def test_the_library_alone_gives_the_checkpoints_logits(name: str, library_folders: Any) -> None:
    made, folder = library_folders[name]
    found, given = load_file(folder / "outputs.safetensors"), batch(made)
    assert found["input_ids"].tolist() == given.input_ids.tolist()
    torch.testing.assert_close(found["logits"], logits(made.model, given), atol=1e-5, rtol=0)


def same_after_import(made: Checkpoint, folder: Path, given: Batch) -> Checkpoint:
    back = importers.load("transformers")(folder, ())
    assert (back.labels, back.temperature, back.recipe.max_length) == (made.labels, 1.25, 48)
    assert config.to_dict(back.recipe.task) == config.to_dict(made.recipe.task)
    assert back.tokenizer.words_to_ids([*WORDS]) == made.tokenizer.words_to_ids([*WORDS])
    assert back.provenance["fresh"] == []
    torch.testing.assert_close(logits(back.model, given), logits(made.model, given), atol=1e-5, rtol=0)
    return back


@pytest.mark.parametrize("name", LIBRARY)
def test_the_folder_of_the_library_is_imported_again(name: str, library_folders: Any) -> None:
    made, folder = library_folders[name]
    back = same_after_import(made, folder, batch(made))
    assert back.recipe.arch == ("hf" if name.startswith("lambert") else made.recipe.arch)


@pytest.mark.parametrize("name", OURS)
def test_with_layoutray_our_architectures_load_and_are_imported_again(name: str, tmp_path: Path) -> None:
    made, folder = make(tmp_path, OURS[name]), export(tmp_path)
    given = batch(made, neighbours=architectures.load(made.recipe.arch).find_neighbours)
    model = AutoModelForTokenClassification.from_pretrained(folder)
    inputs = auto_classes.page_inputs(model, AutoTokenizer.from_pretrained(folder), WORDS, BOXES, SIZE)
    with torch.no_grad():
        encoded, expected = made.model.scores(given)
        found = model(**inputs).logits
    assert model.config.id2label == dict(enumerate(LABELS))
    assert (folder / "model.safetensors").stat().st_mode == (folder / "config.json").stat().st_mode
    assert inputs["input_ids"].tolist() == given.input_ids.tolist()
    row, kept = encoded.mask.nonzero(as_tuple=True)
    torch.testing.assert_close(found[row, encoded.origin[row, kept]], expected[row, kept], atol=1e-5, rtol=0)
    assert same_after_import(made, folder, given).recipe.model == made.recipe.model


def test_a_masked_language_model_gives_the_same_words(tmp_path: Path) -> None:
    made, folder = make(tmp_path, {"arch": "hf"}, {"name": "masked_lm"}, ()), export(tmp_path)
    model, given = AutoModelForMaskedLM.from_pretrained(folder), batch(made)
    with torch.no_grad():
        found = model(input_ids=given.input_ids).logits
    torch.testing.assert_close(found, logits(made.model, given), atol=1e-5, rtol=0)
    same_after_import(made, folder, given)


@pytest.mark.parametrize(
    ("model", "task"),
    [
        ({"arch": "pyramidion"}, "summary"),
        ({"arch": "skimformer"}, "masked_lm"),
        ({"arch": "hf", "model_type": "lilt"}, "masked_lm"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    model: dict[str, Any], task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path, model, {"name": task}, ())
    assert main(["export", "huggingface", str(tmp_path / "ours"), str(tmp_path / "theirs")]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert f"architecture {model['arch']} and task {task}, which cannot be exported; what can be: models that" in told
    assert not (tmp_path / "theirs").exists()


def test_lists_of_known_values_stay_at_home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = tmp_path / "shops.txt"
    known.write_text("Secret Shop\nHidden Store\n")
    looked = {"type": "name", "second_look": [0.0, 1.0, 0.0, 1.0, -1.0], "labelled_values": ["Secret Vendor"]}
    task = ENTITIES | {"fields": {"date": {"type": "text", "known": str(known)}, "total": looked}}
    make(tmp_path, {"arch": "hf"}, task)
    folder = export(tmp_path)
    assert "known values of date are not exported" in capsys.readouterr().err
    for name in ("config.json", "README.md"):
        text = (folder / name).read_text()
        assert "Secret" not in text
        assert "shops.txt" not in text
