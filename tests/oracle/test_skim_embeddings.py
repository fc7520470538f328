"""BERT + SkimEmbeddings against numbers from the authors' release, within the tolerances of Skimformer."""

from pathlib import Path

import pytest
import torch

from layoutray.architectures.skim_embeddings import ARCHITECTURE, SkimEmbeddingsConfig
from layoutray.nn.weight_names.skim_attention import SKIM_EMBEDDINGS
from layoutray.tasks import TaskModel
from layoutray.tasks.word_labels import TokenClassificationHead
from layoutray.tensors import Batch
from tests.oracle.cases import files, read

HIDDEN, LOGITS, LOSS, GRADIENT = 2e-5, 1e-4, 2e-5, 1e-4


@pytest.mark.parametrize("file", files("skim/bert_skimembeddings*.safetensors"))
def test_embeddings_states_logits_loss_and_gradients(file: Path) -> None:
    case = read(file)
    theirs, given, out = case.facts["config"], case.group("in"), case.group("out")
    config = SkimEmbeddingsConfig(
        hidden=theirs["hidden_size"],
        layout_hidden=theirs["hidden_layout_size"],
        layers=theirs["num_hidden_layers"],
        heads=theirs["num_attention_heads"],
        feed_forward=theirs["intermediate_size"],
        dropout=theirs["hidden_dropout_prob"],
        attention_dropout=theirs["attention_probs_dropout_prob"],
        max_2d=theirs["max_2d_position_embeddings"],
        max_length=theirs["max_position_embeddings"],
        segments=theirs["type_vocab_size"],
    )
    encoder = ARCHITECTURE.build(config, vocab_size=theirs["vocab_size"], pad_id=theirs["pad_token_id"])
    model = TaskModel(encoder, TokenClassificationHead(config.hidden, case.facts["num_labels"], config.dropout))
    model.load_state_dict(SKIM_EMBEDDINGS.state_to_ours(case.group("sd")))
    model.eval()
    batch = Batch(
        input_ids=given["input_ids"],
        boxes=given["bbox"],
        mask=given["attention_mask"].bool(),
        labels=given["tc_labels"],
    )
    torch.testing.assert_close(encoder.embed(batch).detach(), out["embeddings"], atol=HIDDEN, rtol=0)
    encoded, logits = model.scores(batch)
    torch.testing.assert_close(
        encoded.states[batch.mask].detach(), out["last_hidden_state"][batch.mask], atol=HIDDEN, rtol=0
    )
    torch.testing.assert_close(logits[batch.mask].detach(), out["tc_logits"][batch.mask], atol=LOGITS, rtol=0)
    loss = model(batch) / int(((given["tc_labels"] != -100) & batch.mask).sum())
    torch.testing.assert_close(loss.detach(), out["tc_loss"], atol=LOSS, rtol=0)
    loss.backward()
    norms = {
        SKIM_EMBEDDINGS.to_theirs(name): parameter.grad.norm().item() for name, parameter in model.named_parameters()
    }
    expected = {name: norm for name, norm in case.facts["tc_grad_norms"].items() if norm is not None}
    assert norms == pytest.approx(expected, rel=GRADIENT, abs=GRADIENT)
