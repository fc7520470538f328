"""The iterative relaxation and the similarity against numbers from the authors' release."""

from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.measure.iterative_topk import iterative_topk, nccs
from layoutray.nn.token_pooling import hard_topk, successive_halving_topk
from tests.oracle.cases import files, read
from tests.oracle.test_token_pooling import EXACT, cases_of, close


@pytest.mark.parametrize(("file", "known"), cases_of("pyramidion/topk_iterative_baseline*.safetensors"))
def test_iterative_topk(file: Path, known: dict[str, Any]) -> None:
    case = read(file).group(known["name"])
    states, scores = iterative_topk(case["E"], case["v"], known["k"])
    close(states, case["out"])
    close(scores, case["out_scores"])


@pytest.mark.parametrize("file", files("pyramidion/nccs*.safetensors"))
def test_nccs(file: Path) -> None:
    case = read(file)
    states, scores = case.tensors["E"], case.tensors["v"]
    mask = torch.ones_like(scores, dtype=torch.bool)
    for known in case.facts["results"]:
        exact = hard_topk(states, scores, mask, known["k"]).states
        relaxed = successive_halving_topk(states, scores, mask, known["k"]).states
        assert nccs(exact, relaxed).mean().item() == pytest.approx(known["nccs_mean_over_hard"], abs=EXACT)
