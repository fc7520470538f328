"""Pooling and scoring against numbers from the authors' release, within the tolerances of the oracle's README."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from layoutray.errors import InputError
from layoutray.nn.token_pooling import HalvingSettings, Pooled, successive_halving_topk, window_pool
from layoutray.nn.token_scoring import LinearScorer, NonlinearScorer, received_attention, scorer
from tests.oracle.cases import files, read

EXACT, SINGLE = 1e-12, 1e-5


def close(actual: Tensor, expected: Tensor, tolerance: float = EXACT) -> None:
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=0)


def cases_of(pattern: str) -> list[Any]:
    """(file, case) for every entry of `cases` in every oracle file that fits."""
    return [
        pytest.param(parameter.values[0], entry, id=entry["name"], marks=parameter.marks)
        for parameter in files(pattern)
        for entry in (read(parameter.values[0]).facts["cases"] if parameter.values[0] else [{"name": "absent"}])
    ]


def pooled(known: dict[str, Any], states: Tensor, scores: Tensor) -> Pooled:
    """The operator as the release computes this case."""
    missing = known["n"] - states.shape[1]
    how = HalvingSettings(
        base=float(known.get("base", 20)),
        pairing="mirrored" if known.get("flip_right", True) else "parallel",
        order="document" if known.get("sort_back") else "score",
        padding="reference_parity",
    )
    mask = (torch.arange(known["n"]) < states.shape[1]).expand(len(states), -1)
    states, scores = nn.functional.pad(states, (0, 0, 0, missing)), nn.functional.pad(scores, (0, missing))
    return successive_halving_topk(states, scores, mask, known["k"], how)


@pytest.mark.parametrize(("file", "known"), cases_of("pyramidion/topk_operator*.safetensors"))
class TestOperator:
    def test_outputs_and_gradients(self, file: Path, known: dict[str, Any]) -> None:
        if "error" in known:
            with pytest.raises(InputError, match="cannot be halved"):
                pooled(known, torch.rand(1, known["n"], 4), torch.rand(1, known["n"]))
            return
        case = read(file).group(known["name"])
        states, scores = case["E"].clone().requires_grad_(), case["v"].clone().requires_grad_()
        found = pooled(known, states, scores)
        (found.states * case["cot_out"]).sum().backward(retain_graph=True)
        alone = torch.zeros_like(scores) if scores.grad is None else scores.grad.clone()
        (found.scores * case["cot_scores"]).sum().backward()
        assert states.grad is not None
        assert scores.grad is not None
        if not case["out"].isfinite().all():
            self._is_the_limit(found, states, scores)
            return
        close(found.states.detach(), case["out"])
        close(found.scores.detach(), case["out_scores"])
        close(states.grad, case["grad_E"])
        close(scores.grad, case["grad_v"])
        close(alone, case["grad_v_from_out_only"])
        close(pooled(known, case["E"].float(), case["v"].float()).states, case["out_f32"], SINGLE)

    def _is_the_limit(self, found: Pooled, states: Tensor, scores: Tensor) -> None:
        """Powers of 20 overflow in the release and give NaN; scores so far apart leave nothing of the weaker ones."""
        assert scores.diff().abs().min() > 1
        best = scores.topk(found.states.shape[1])
        close(found.scores, best.values)
        close(found.states, states.gather(1, best.indices[..., None].expand_as(found.states)))
        assert all(part.grad is not None and part.grad.isfinite().all() for part in (states, scores))

    def test_what_is_no_power_of_two_is_refused_by_default(self, file: Path, known: dict[str, Any]) -> None:
        n, k = known["n"], known["k"]
        states, scores, mask = torch.rand(1, n, 2), torch.rand(1, n), torch.ones(1, n, dtype=torch.bool)
        if n / k in (2**rounds for rounds in range(20)):
            assert successive_halving_topk(states, scores, mask, k).states.shape[1] == k
        else:
            with pytest.raises(InputError, match=f"{n} tokens cannot be halved to {k}"):
                successive_halving_topk(states, scores, mask, k)


@pytest.mark.parametrize("file", files("pyramidion/scorers*.safetensors"))
class TestScorers:
    def test_learned(self, file: Path) -> None:
        case = read(file)
        states, weights = case.tensors["in/E"], case.group("w")
        width = states.shape[-1]
        linear, nonlinear = LinearScorer(width).double(), NonlinearScorer(width, 0.1).double().eval()
        linear.load_state_dict({"classifier.weight": weights["linear_w"][None], "classifier.bias": weights["linear_b"]})
        nonlinear.load_state_dict(
            {
                "dense.weight": weights["nonlinear_W1"],
                "dense.bias": weights["nonlinear_b1"],
                "classifier.weight": weights["nonlinear_w2"][None],
                "classifier.bias": weights["nonlinear_b2"],
            }
        )
        for learned, name in ((linear, "linear"), (nonlinear, "nonlinear")):
            found = learned(states, nobody)
            close(found.detach(), case.tensors[f"out/{name}_released_score"])
            close(torch.logit(found - 1e-5).detach(), case.tensors[f"out/{name}_logit"])

    def test_fixed(self, file: Path) -> None:
        case = read(file)
        states, attention, out = case.tensors["in/E"], case.tensors["in/attention"], case.group("out")
        everyone = torch.ones(states.shape[:2], dtype=torch.bool)
        close(received_attention(attention, everyone), out["power_column_sum_over_heads"])
        close(scorer("index", states.shape[-1], 0.0, 4)(states, nobody), out["index_every4"])
        for take in ("mean", "max"):
            close(window_pool(states, everyone, states.shape[1] // 4, take).states, out[f"{take}_pool4"])


def nobody() -> Tensor:
    raise AssertionError("this scorer does not look at attention")
