"""Skimformer against numbers from its authors' release (architectures.md §1; tolerances of the oracle's README)."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from layoutray.architectures.skimformer import ARCHITECTURE, Skimformer, SkimformerConfig
from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.skim_attention import DEGRADED, POSITIONS, SKIMFORMER
from layoutray.tasks import TaskModel
from layoutray.tasks.masked_lm import MaskedLanguageModelHead
from layoutray.tasks.word_labels import TokenClassificationHead
from layoutray.tensors import Batch
from tests.oracle.cases import Case, files, read

HIDDEN, ATTENTION, LOGITS, LOSS = 2e-5, 1e-5, 1e-4, 2e-5
GRADIENT = 1e-4

CASES = pytest.mark.parametrize("file", files("skim/skimformer_*.safetensors"))


@dataclass(frozen=True)
class Reference:
    """A case with our configuration."""

    case: Case
    config: SkimformerConfig

    @property
    def names(self) -> NameTable:
        return {"1d": POSITIONS, "degraded": DEGRADED}.get(self.config.layout, SKIMFORMER)

    @property
    def mask(self) -> Tensor:
        return self.case.tensors["in/attention_mask"].bool()

    def batch(self, labels: str) -> Batch:
        ids = self.case.tensors["in/input_ids"]
        # Cases without boxes are of variants that must not look at them: any boxes will do.
        corners = torch.randint(0, 500, (*ids.shape, 2), generator=torch.Generator().manual_seed(0))
        boxes = self.case.tensors.get("in/bbox", torch.cat([corners, corners + 100], -1))
        return Batch(input_ids=ids, boxes=boxes, mask=self.mask, labels=self.case.tensors[f"in/{labels}"])

    def encoder(self, config: SkimformerConfig) -> Skimformer:
        theirs = self.case.facts["config"]
        return ARCHITECTURE.build(config, vocab_size=theirs["vocab_size"], pad_id=theirs["pad_token_id"])

    def masked_lm(self, config: SkimformerConfig) -> TaskModel:
        encoder = self.encoder(config)
        return self._load(TaskModel(encoder, MaskedLanguageModelHead(encoder)), self.case.group("sd"))

    def token_classification(self, config: SkimformerConfig) -> TaskModel:
        head = TokenClassificationHead(config.hidden, self.case.facts["num_labels"], config.dropout)
        body = {name: tensor for name, tensor in self.case.group("sd").items() if not name.startswith("cls.")}
        return self._load(TaskModel(self.encoder(config), head), body | self.case.group("tc_sd"))

    def _load(self, model: TaskModel, state: dict[str, Tensor]) -> TaskModel:
        model.load_state_dict(self.names.state_to_ours(state))
        return model.eval()


def reference(file: Path) -> Reference:
    case = read(file)
    theirs = case.facts["config"]
    contextualised = any("layout_encoder" in name for name in case.group("sd"))
    config = SkimformerConfig(
        hidden=theirs["hidden_size"],
        layout_hidden=theirs["hidden_layout_size"],
        layers=theirs["num_hidden_layers"],
        heads=theirs["num_attention_heads"],
        head_size=theirs["attention_head_size"],
        skim_head_size=theirs["skim_attention_head_size"],
        feed_forward=theirs["intermediate_size"],
        dropout=theirs["hidden_dropout_prob"],
        attention_dropout=theirs["attention_probs_dropout_prob"],
        max_2d=theirs["max_2d_position_embeddings"],
        max_length=theirs["max_position_embeddings"],
        segments=theirs["type_vocab_size"],
        contextualiser_layers=theirs["num_hidden_layers_layout_encoder"] if contextualised else 0,
        contextualiser_heads=theirs["num_attention_heads_layout_encoder"],
        contextualiser_mask="reference_parity",
        layout=_layout(case, theirs),
    )
    return Reference(case, config)


def _layout(case: Case, theirs: dict[str, Any]) -> Any:
    if theirs["use_1d_positions"]:
        return "1d"
    if "in/bbox" not in case.tensors:
        return "uniform"
    return "degraded" if theirs["degrade_2d_positions"] else "boxes"


def record(module: nn.Module, into: list[Tensor]) -> None:
    module.register_forward_hook(lambda _module, _inputs, output: into.append(output))


def assert_close(actual: Tensor, expected: Tensor, tolerance: float) -> None:
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=0)


@CASES
@torch.no_grad()
def test_every_intermediate_result(file: Path) -> None:
    known = reference(file)
    model = known.masked_lm(known.config)
    encoder = model.encoder
    layout: list[Tensor] = []
    contextualised: list[Tensor] = []
    attention: list[Tensor] = []
    hidden: list[Tensor] = []
    record(encoder.layout_embedding, layout)
    record(encoder.contextualiser, contextualised)
    record(encoder.skim_attention, attention)
    record(encoder.text_dropout, hidden)
    for layer in encoder.layers:
        record(layer, hidden)
    encoded = encoder(known.batch("mlm_labels"))
    out = known.case.group("out")
    assert_close(layout[0], out["layout_embeddings"], HIDDEN)
    assert_close(contextualised[0], out.get("layout_contextualised", out["layout_embeddings"]), HIDDEN)
    assert_close(attention[0], out["skim_attention"], ATTENTION)
    for number, states in enumerate(hidden):
        assert_close(states, out[f"hidden_states.{number}"], HIDDEN)
    assert_close(encoded.states, out["last_hidden_state"], HIDDEN)


@CASES
@pytest.mark.parametrize(("task", "labels"), [("mlm", "mlm_labels"), ("tc", "tc_labels")])
def test_logits_loss_and_gradients(file: Path, task: str, labels: str) -> None:
    known = reference(file)
    model = known.masked_lm(known.config) if task == "mlm" else known.token_classification(known.config)
    batch = known.batch(labels)
    assert batch.labels is not None
    encoded, logits = model.scores(batch)
    assert_close(logits.detach(), known.case.tensors[f"out/{task}_logits"], LOGITS)
    targets = int(((batch.labels != -100) & encoded.mask).sum())
    loss = model(batch) / targets
    assert_close(loss.detach(), known.case.tensors[f"out/{task}_loss"], LOSS)
    loss.backward()
    norms = {known.names.to_theirs(name): parameter.grad.norm().item() for name, parameter in model.named_parameters()}
    expected = {name: norm for name, norm in known.case.facts[f"{task}_grad_norms"].items() if norm is not None}
    assert norms == pytest.approx(expected, rel=GRADIENT, abs=GRADIENT)


@CASES
@torch.no_grad()
def test_a_masked_contextualiser_differs_only_for_padded_pages(file: Path) -> None:
    known = reference(file)
    model = known.masked_lm(replace(known.config, contextualiser_mask="masked"))
    _, logits = model.scores(known.batch("mlm_labels"))
    for document, real in enumerate(known.mask):
        difference = (logits - known.case.tensors["out/mlm_logits"])[document, real].abs().max()
        if known.config.contextualiser_layers and not real.all():
            assert difference > 100 * LOGITS
        else:
            assert difference < LOGITS


@pytest.mark.parametrize("file", files("skim/base_config_facts.json"))
class TestBaseConfiguration:
    """Size and initial weights of the paper's model."""

    VOCABULARY = 30522

    @pytest.mark.parametrize(("contextualiser_layers", "suffix"), [(0, "False"), (2, "True")])
    def test_number_of_parameters(self, file: Path, contextualiser_layers: int, suffix: str) -> None:
        facts = json.loads(file.read_text(encoding="utf-8"))
        config = replace(ARCHITECTURE.sizes["base"], contextualiser_layers=contextualiser_layers)
        with torch.device("meta"):
            encoder = ARCHITECTURE.build(config, vocab_size=self.VOCABULARY, pad_id=0)
            model = TaskModel(encoder, MaskedLanguageModelHead(encoder))
        assert sum(parameter.numel() for parameter in model.parameters()) == facts[f"params_mlm_ctx{suffix}"]

    def test_initial_weights(self, file: Path) -> None:
        facts = json.loads(file.read_text(encoding="utf-8"))
        torch.manual_seed(0)
        encoder = ARCHITECTURE.build(ARCHITECTURE.sizes["base"], vocab_size=self.VOCABULARY, pad_id=0)
        head = MaskedLanguageModelHead(encoder)
        ARCHITECTURE.initialise(head, encoder.width)
        ours = {
            SKIMFORMER.to_theirs(name): parameter for name, parameter in TaskModel(encoder, head).named_parameters()
        }
        assert ours.keys() == facts["init_stats"].keys()
        for name, expected in facts["init_stats"].items():
            self._check(ours[name].detach(), expected)
        norms = encoder.word_embedding.weight.detach().norm(dim=1)
        assert norms[0] == pytest.approx(facts["padding_row_l2"], rel=0.15)

    def _check(self, weight: Tensor, expected: dict[str, Any]) -> None:
        assert list(weight.shape) == expected["shape"]
        # Two independent samples of one distribution: their means and deviations differ by a few standard errors.
        error = 6 * expected["std"] / math.sqrt(weight.numel())
        assert weight.mean().item() == pytest.approx(expected["mean"], abs=error)
        assert weight.std().item() == pytest.approx(expected["std"], abs=error)
