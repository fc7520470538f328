"""LongSkimformer against numbers from its authors' release (architectures.md §1; tolerances of the oracle's README)."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from layoutray.architectures.longskimformer import ARCHITECTURE, LongSkimformerConfig
from layoutray.nn.local_attention import dense_matrix
from layoutray.nn.weight_names.skim_attention import LONGSKIMFORMER
from layoutray.tasks import TaskModel
from layoutray.tasks.masked_lm import MaskedLanguageModelHead
from layoutray.tasks.word_labels import TokenClassificationHead
from layoutray.tensors import Batch
from tests.oracle.cases import Case, files, read

HIDDEN, ATTENTION, LOGITS, LOSS = 2e-5, 1e-5, 1e-4, 2e-5
GRADIENT = 1e-4

# Global attention is not offered: nothing in the release makes a token global.
CASES = pytest.mark.parametrize(
    "file",
    [case for case in files("skim/longskimformer_*.safetensors") if "global" not in str(case.id)],
    ids=lambda file: file and file.stem,
)


@dataclass(frozen=True)
class Reference:
    """A case with our configuration."""

    case: Case
    config: LongSkimformerConfig

    def batch(self, labels: str) -> Batch:
        given = self.case.group("in")
        return Batch(
            input_ids=given["input_ids"], boxes=given["bbox"], mask=given["attention_mask"].bool(), labels=given[labels]
        )

    def model(self, task: str) -> TaskModel:
        theirs = self.case.facts["config"]
        encoder = ARCHITECTURE.build(self.config, vocab_size=theirs["vocab_size"], pad_id=theirs["pad_token_id"])
        if task == "mlm":
            return self._load(TaskModel(encoder, MaskedLanguageModelHead(encoder)), self.case.group("sd"))
        head = TokenClassificationHead(self.config.hidden, self.case.facts["num_labels"], self.config.dropout)
        body = {name: tensor for name, tensor in self.case.group("sd").items() if not name.startswith("lm_head.")}
        return self._load(TaskModel(encoder, head), body | self.case.group("tc_sd"))

    def _load(self, model: TaskModel, state: dict[str, Tensor]) -> TaskModel:
        model.load_state_dict(LONGSKIMFORMER.state_to_ours(state))
        return model.eval()


def reference(file: Path) -> Reference:
    case = read(file)
    theirs = case.facts["config"]
    contextualised = any("layout_encoder" in name for name in case.group("sd"))
    config = LongSkimformerConfig(
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
        window=theirs["attention_window"],
        contextualiser_layers=theirs["num_hidden_layers_layout_encoder"] if contextualised else 0,
        contextualiser_heads=theirs["num_attention_heads_layout_encoder"],
    )
    return Reference(case, config)


def record(module: nn.Module, into: list[Tensor]) -> None:
    module.register_forward_hook(lambda _module, _inputs, output: into.append(output))


def assert_close(actual: Tensor, expected: Tensor, tolerance: float) -> None:
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=0)


@CASES
@torch.no_grad()
def test_layout_attention_and_states(file: Path) -> None:
    known = reference(file)
    model = known.model("mlm")
    layout: list[Tensor] = []
    attention: list[Tensor] = []
    record(model.encoder.layout_embedding, layout)
    record(model.encoder.skim_attention, attention)
    batch, out = known.batch("mlm_labels"), known.case.group("out")
    encoded = model.encoder(batch)
    length = batch.input_ids.shape[1]
    assert_close(layout[0][:, :length], out["layout_embeddings"][:, :length], HIDDEN)
    assert_close(
        dense_matrix(attention[0])[..., :length, :length], out["skim_attention_dense"][..., :length, :length], ATTENTION
    )
    assert_close(encoded.states[batch.mask], out["last_hidden_state"][batch.mask], HIDDEN)


@CASES
@pytest.mark.parametrize(("task", "labels"), [("mlm", "mlm_labels"), ("tc", "tc_labels")])
def test_logits_loss_and_gradients(file: Path, task: str, labels: str) -> None:
    known = reference(file)
    model, batch = known.model(task), known.batch(labels)
    assert batch.labels is not None
    _, logits = model.scores(batch)
    assert_close(logits[batch.mask].detach(), known.case.tensors[f"out/{task}_logits"][batch.mask], LOGITS)
    loss = model(batch) / int(((batch.labels != -100) & batch.mask).sum())
    assert_close(loss.detach(), known.case.tensors[f"out/{task}_loss"], LOSS)
    loss.backward()
    expected = {name: norm for name, norm in known.case.facts.get(f"{task}_grad_norms", {}).items() if norm is not None}
    norms = {
        LONGSKIMFORMER.to_theirs(name): parameter.grad.norm().item() for name, parameter in model.named_parameters()
    }
    assert not expected or norms == pytest.approx(expected, rel=GRADIENT, abs=GRADIENT)


def test_the_papers_size() -> None:
    encoder = ARCHITECTURE.build(ARCHITECTURE.sizes["base"], vocab_size=50_265, pad_id=1)
    model = TaskModel(encoder, MaskedLanguageModelHead(encoder))
    ours = sum(parameter.numel() for parameter in model.parameters())
    size, layers, skimming = 768, 12, 2
    # The release's weights for global attention: query and key of Skim-Attention, values of each layer, all of the
    # contextualiser's.
    unused = (skimming + layers + 2 * 3) * (size * size + size)
    assert ours + unused == 140_444_505
