"""Fine-tuning from several checkpoints, as a user types it."""

import json
from pathlib import Path

import pytest

from layoutray import checkpoint
from layoutray.cli.train import finetune
from layoutray.errors import CheckpointError
from tests.jobs import encode, pages, recipe, recipe_file
from tests.mlflow_store import new_store
from tests.training.test_start import BERT, SKIM_EMBEDDINGS, SKIMFORMER, of, trained


def test_what_no_checkpoint_gives_is_named_and_what_does_not_fit_makes_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parents = [trained(tmp_path / "skimformer", SKIMFORMER), trained(tmp_path / "bert", BERT)]
    chosen = of(SKIM_EMBEDDINGS, vocabulary=parents[0])
    examples, file = encode(tmp_path, chosen, pages(12, 2)), tmp_path / "joined.toml"
    model = "\n".join(f"{key} = {json.dumps(value)}" for key, value in chosen.model.items())
    file.write_text(
        f'name = "joined"\nmax_length = 48\n[task]\nname = "entities"\n[train]\nsteps = 1\n[model]\n{model}\n'
    )
    store = f"sqlite:///{tmp_path / 'mlflow.db'}"
    call = [str(file), examples, "--out", str(tmp_path / "joined"), "--tracking-uri", store]
    with pytest.raises(CheckpointError, match="both give"):
        finetune([*call, "--init", parents[1], "--init", parents[1]])
    assert not (tmp_path / "mlflow.db").exists()
    assert finetune([*call, "--init", parents[0], "--init", parents[1]]) == 0
    said = capsys.readouterr().err
    assert (
        "randomly initialised, as no --init gives them: "
        "boxes.projections.height.bias, boxes.projections.height.weight, " in said
    )
    assert checkpoint.load(tmp_path / "joined").provenance["init"] == parents
    assert "has no dev examples" not in said


def test_examples_without_a_dev_split_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = recipe("entities", steps=1, evaluate_every=1)
    examples, store = encode(tmp_path, chosen, pages(4)), new_store(tmp_path)
    assert (
        finetune([recipe_file(tmp_path, chosen), examples, "--out", str(tmp_path / "out"), "--tracking-uri", store])
        == 0
    )
    assert f"{examples} has no dev examples: evaluation and early stopping are off" in capsys.readouterr().err
