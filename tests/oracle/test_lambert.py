"""LAMBERT: the paper's formulas, and numbers from its authors' later release (architectures.md §4)."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from layoutray import checkpoint
from layoutray.architectures.lambert import PositionDropout, TokenPlaces, linear_schedule
from layoutray.checkpoint import Checkpoint
from layoutray.nn.relative_bias import buckets, relative_buckets
from layoutray.nn.winding_embedding import WindingEmbedding, factors, page_scaled
from layoutray.releases import importers
from layoutray.tensors import Encoded
from tests.oracle.cases import Case, files, read
from tests.releases.release import write_release

EXACT, HIDDEN, LOGITS = 1e-10, 2e-5, 5e-5
# What the configuration of any RoBERTa says, and those of the cases do not.
ROBERTA = {
    "model_type": "roberta",
    "type_vocab_size": 1,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}


@pytest.mark.parametrize("file", files("lambert/winding_paper*.safetensors"))
def test_scaled_boxes_and_winding_embedding(file: Path) -> None:
    given = read(file).tensors
    origin, sizes = given["page"][:, :2], given["page"][:, 2:] - given["page"][:, :2]
    shares = (given["bbox"] - origin.repeat(1, 2)) / sizes.repeat(1, 2)
    places = page_scaled(shares.unsqueeze(1), sizes)
    torch.testing.assert_close(places.squeeze(1), given["bbox_normalised"], atol=EXACT, rtol=0)
    whole = page_scaled(torch.tensor([0, 0, 1, 1], dtype=torch.float64).expand(len(sizes), 1, 4), sizes)
    torch.testing.assert_close(whole[:, 0, 2:], given["page_size_normalised"], atol=EXACT, rtol=0)
    for name, expected in given.items():
        kind, _, rest = name.partition("_n")
        width = int(rest.partition("_")[0]) if rest[:1].isdigit() else 0
        if kind == "theta":
            torch.testing.assert_close(factors(width // 8, "paper"), expected, atol=EXACT, rtol=0)
        elif kind == "embedding":
            found = WindingEmbedding(width, "paper")(places[: len(expected)]).squeeze(1)
            torch.testing.assert_close(found, expected, atol=EXACT, rtol=0)


@pytest.mark.parametrize("file", files("lambert/position_dropout_schedule*.safetensors"))
def test_positions_are_dropped_at_the_scheduled_rate(file: Path) -> None:
    given = read(file).tensors
    for name, expected in given.items():
        if name.startswith("q_total"):
            total = int(name.removeprefix("q_total"))
            found = [linear_schedule(step / total) for step in given["step"].tolist()]
            torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), expected, atol=EXACT, rtol=0)
            for q in expected.tolist():
                dropout = PositionDropout().eval()
                dropout.increase_to(q)
                torch.testing.assert_close(dropout(torch.ones(3, 2), 1), torch.full((1, 3, 2), 1 - q))


@pytest.mark.parametrize("file", files("lambert/relative_buckets*.safetensors"))
def test_buckets_equal_t5s(file: Path) -> None:
    given = read(file).tensors
    for name, expected in given.items():
        if name.startswith("bucket_max"):
            assert torch.equal(relative_buckets(given["distance"], int(name.removeprefix("bucket_max"))), expected), (
                name
            )


def released(case: Case, folder: Path) -> Checkpoint:
    """The case as its authors' `state_dict` has it, under all names, imported, written and read again."""
    state = case.group("sd")
    state |= {alias: state[name].clone() for alias, name in case.facts["aliases"].items()}
    config = ROBERTA | case.facts["config"]
    made = importers.load("lambert")(write_release(folder / "theirs", config, state), [])
    checkpoint.save(folder / "ours", made)
    return checkpoint.load(folder / "ours")


@pytest.mark.parametrize("file", files("lambert/released_code*.safetensors"))
@torch.no_grad()
def test_an_imported_release_gives_its_numbers(file: Path, tmp_path: Path) -> None:
    case = read(file)
    given, out = case.group("in"), case.group("out")
    boxes, mask = given["bboxes"], given["attention_mask"].bool()
    # Numbers of words are for graphs alone, which the release does not have.
    places = TokenPlaces(boxes, boxes, torch.zeros(boxes.shape[:2], dtype=torch.long))
    model: Any = released(case, tmp_path).model
    encoder = model.encoder
    assert_close(encoder.layout.embedding(boxes), out["layout_embeddings"], HIDDEN)
    states = encoder.embed(given["input_ids"], places)
    # Padding has other positions there, which nothing that counts sees.
    assert_close(states[mask], out["input_embeddings"][mask], HIDDEN)
    assert_close((states - encoder.layout(places))[mask], out["roberta_embeddings_after_layernorm"][mask], HIDDEN)
    for found, name in zip(buckets(boxes), ("sequential", "horizontal", "vertical"), strict=True):
        assert torch.equal(found, out[f"bucket_{name}"]), name
    assert_close(encoder.relative_bias(boxes), out["relative_bias"], HIDDEN)
    encoded: Encoded = encoder.encode(given["input_ids"], mask, places)
    assert_close(encoded.states[mask], out["last_hidden_state"][mask], HIDDEN)
    logits = model.head(encoded)
    assert_close(logits[mask], out["tc_logits"][mask], LOGITS)
    loss = torch.nn.functional.cross_entropy(logits[mask], given["tc_labels"][mask])
    assert_close(loss, out["tc_loss"], LOGITS)


def assert_close(found: Tensor, expected: Tensor, tolerance: float) -> None:
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=0)
