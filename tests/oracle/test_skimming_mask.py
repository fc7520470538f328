"""SkimmingMask against numbers from its authors' release (architectures.md §1; tolerances of the oracle's README)."""

from pathlib import Path

import pytest
import torch

from layoutray.architectures.skimming_mask import ARCHITECTURE, SkimmingMaskConfig, skimming_mask
from layoutray.nn.weight_names.skim_attention import SKIMMING_MASK
from layoutray.tasks import TaskModel
from layoutray.tasks.word_labels import TokenClassificationHead
from layoutray.tensors import Batch
from tests.oracle.cases import Case, files, read

ATTENTION, STATES, LOGITS, LOSS, GRADIENT = 1e-5, 2e-5, 2e-5, 2e-5, 1e-4


def config_of(case: Case) -> SkimmingMaskConfig:
    theirs = case.facts["config"]
    contextualised = any("layout_encoder" in name for name in case.group("sd"))
    return SkimmingMaskConfig(
        core=theirs["core_model_type"],
        top_k=case.facts["top_k"],
        hidden=theirs["hidden_size"],
        layers=theirs["num_hidden_layers"],
        heads=theirs["num_attention_heads"],
        feed_forward=theirs["intermediate_size"],
        dropout=theirs["hidden_dropout_prob"],
        attention_dropout=theirs["attention_probs_dropout_prob"],
        max_length=theirs["max_position_embeddings"],
        segments=theirs["type_vocab_size"],
        max_2d=theirs["max_2d_position_embeddings"],
        layout_hidden=theirs["hidden_layout_size"],
        skim_head_size=theirs["skim_attention_head_size"],
        contextualiser_layers=theirs["num_hidden_layers_layout_encoder"] if contextualised else 0,
        contextualiser_heads=theirs["num_attention_heads_layout_encoder"],
        contextualiser_mask="reference_parity",
    )


@pytest.mark.parametrize("file", files("skim/skimmingmask_*.safetensors"))
def test_mask_states_logits_loss_and_gradients(file: Path) -> None:
    case = read(file)
    theirs, given, out, config = case.facts["config"], case.group("in"), case.group("out"), config_of(case)
    encoder = ARCHITECTURE.build(config, vocab_size=theirs["vocab_size"], pad_id=theirs["pad_token_id"])
    model = TaskModel(encoder, TokenClassificationHead(config.hidden, case.facts["num_labels"], config.dropout))
    model.load_state_dict(SKIMMING_MASK.state_to_ours(case.group("sd")))
    model.eval()
    mask = given["attention_mask_2d"].bool()
    batch = Batch(input_ids=given["input_ids"], boxes=given["bbox"], mask=mask, labels=given["tc_labels"])
    attention = encoder.skimmer(batch.boxes, batch.mask)
    # Rows of padded queries are a constant shift in the release: not comparable, and nobody reads them.
    rows = mask[:, None, :].expand(-1, config.heads, -1)
    torch.testing.assert_close(attention[rows], out["skim_attention"][rows], atol=ATTENTION, rtol=0)
    assert torch.equal(skimming_mask(attention, mask, config.top_k)[rows], out["skimming_mask"].bool()[rows])
    encoded, logits = model.scores(batch)
    torch.testing.assert_close(encoded.states[mask].detach(), out["last_hidden_state"][mask], atol=STATES, rtol=0)
    torch.testing.assert_close(logits[mask].detach(), out["tc_logits"][mask], atol=LOGITS, rtol=0)
    loss = model(batch) / int(((given["tc_labels"] != -100) & mask).sum())
    torch.testing.assert_close(loss.detach(), out["tc_loss"], atol=LOSS, rtol=0)
    loss.backward()
    norms = {
        SKIMMING_MASK.to_theirs(name): part.grad.norm().item()
        for name, part in model.named_parameters()
        if part.grad is not None
    }
    expected = {name: norm for name, norm in case.facts["tc_grad_norms"].items() if norm is not None}
    assert norms == pytest.approx(expected, rel=GRADIENT, abs=GRADIENT)
