"""Imported models of the Skim-Attention release against their original numbers."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from layoutray import checkpoint
from layoutray.releases.importers.skim_attention import read as read_release
from layoutray.tensors import Batch
from tests.oracle.cases import Case, files, read
from tests.releases.release import write_release

LOGITS = {"skimming_mask": 2e-5}
MODEL_TYPES = {
    "skimformer": "skimformer",
    "longskimformer": "longskimformer",
    "skimmingmask": "skimmingmask",
    "bert": "bertwithskimembed",
}


def mask_of(case: Case) -> Tensor:
    given = case.group("in")
    return given.get("attention_mask_2d", given.get("attention_mask", torch.ones(0))).bool()


def overrides(case: Case) -> list[str]:
    """Overrides for settings that the release's configuration lacks."""
    theirs = case.facts["config"]
    said: list[str] = []
    if "in/bbox" not in case.tensors and not theirs["use_1d_positions"]:
        said.append("model.layout=uniform")
    # Without padding, a contextualiser that does not see it gives the same numbers; LongSkimformer's never sees it.
    if theirs.get("contextualize_2d_positions") and not mask_of(case).all() and "attention_window" not in theirs:
        said.append("model.contextualiser_mask=reference_parity")
    return said


def released(case: Case, task: str, folder: Path) -> Path:
    """The folder of a case with its masked-LM head or its classifier."""
    body = {
        name: tensor
        for name, tensor in case.group("sd").items()
        if task == "mlm" or not name.startswith(("cls.", "lm_head."))
    }
    config = case.facts["config"] | {"model_type": MODEL_TYPES[case.name.split("_")[0]]}
    return write_release(folder, config, body | (case.group("tc_sd") if task == "tc" else {}))


# Global attention is not offered: nothing in the release makes a token global.
@pytest.mark.parametrize("file", [case for case in files("skim/*.safetensors") if "global" not in str(case.id)])
@torch.no_grad()
def test_an_imported_model_gives_the_releases_numbers(file: Path, tmp_path: Path) -> None:
    case = read(file)
    mask, ids = mask_of(case), case.tensors["in/input_ids"]
    boxes = case.tensors.get("in/bbox", torch.zeros(*ids.shape, 4, dtype=torch.long))
    tasks = [task for task in ("mlm", "tc") if f"out/{task}_logits" in case.tensors]
    assert tasks
    for task in tasks:
        ours = tmp_path / task
        checkpoint.save(ours, read_release(released(case, task, tmp_path / f"{task}_released"), overrides(case)))
        loaded = checkpoint.load(ours)
        _, logits = loaded.model.scores(Batch(input_ids=ids, boxes=boxes, mask=mask))
        tolerance = LOGITS.get(loaded.recipe.arch, 1e-4)
        torch.testing.assert_close(logits[mask], case.tensors[f"out/{task}_logits"][mask], atol=tolerance, rtol=0)
