"""The Pyramidion family against numbers from the authors' release, within the tolerances of the oracle's README."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from layoutray import config
from layoutray.architectures.pyramidion import ARCHITECTURE, PyramidionConfig
from layoutray.nn.attention import VisibleKeys, attention_probabilities, split_heads
from layoutray.tasks import GenerationSettings, TaskModel
from layoutray.tasks.text_generation import TextGenerationHead
from layoutray.tensors import Batch, Encoded
from tests.oracle.cases import Case, files, read
from tests.oracle.pyramidion_release import encoder_settings, table, writing_settings

STATES, LOGITS, LOSS, GRADIENT = 5e-5, 2e-4, 1e-3, 1e-4

KINDS = ("pyramidion_*", "transpooler*", "blockwise_*", "deep_pyramid_*", "pooler_*", "vanilla_*")
CASES = pytest.mark.parametrize("file", [case for kind in KINDS for case in files(f"pyramidion/{kind}.safetensors")])


@dataclass(frozen=True)
class Reference:
    """A case with our configuration."""

    case: Case
    config: PyramidionConfig
    writing: GenerationSettings

    @property
    def batch(self) -> Batch:
        """Longer sources are cut, as the release cuts them."""
        ids = self.case.tensors["in/src_tokens"][:, : self.config.max_length]
        return Batch(input_ids=ids, boxes=torch.zeros(*ids.shape, 4, dtype=torch.int64), mask=ids != self.pad_id)

    @property
    def pad_id(self) -> int:
        return self.case.facts["dictionary"]["pad"]

    def model(self, changed: PyramidionConfig | None = None) -> TaskModel:
        encoder = ARCHITECTURE.build(
            changed or self.config, vocab_size=self.case.facts["dictionary"]["size"], pad_id=self.pad_id
        )
        model = TaskModel(encoder, TextGenerationHead(encoder, self.writing))
        model.load_state_dict(table(self.config.halvings).state_to_ours(self.case.group("sd")))
        return model.eval()


def reference(file: Path) -> Reference:
    case = read(file)
    theirs = case.facts["args"]
    writing = config.build(GenerationSettings, writing_settings(theirs))
    return Reference(case, PyramidionConfig(**encoder_settings(theirs)), writing)


def record(module: nn.Module, into: list[Any]) -> None:
    module.register_forward_hook(lambda _module, _inputs, output: into.append(output))


def assert_close(actual: Tensor, expected: Tensor, tolerance: float) -> None:
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=0)


@CASES
@torch.no_grad()
def test_states_of_every_layer(file: Path) -> None:
    known = reference(file)
    encoder, out = known.model().encoder, known.case.group("out")
    raw: list[list[Tensor]] = [[] for _ in encoder.layers]
    pooled: dict[str, list[Encoded]] = {number: [] for number in encoder.pools}
    scores: dict[str, list[Tensor]] = {number: [] for number in encoder.pools}
    for layer, into in zip(encoder.layers, raw, strict=True):
        record(layer, into)
    for number, pool in encoder.pools.items():
        record(pool, pooled[number])
        record(pool.scorer, scores[number])
    encoded = encoder(known.batch)
    for layer, (states,) in enumerate(raw):
        assert_close(states, out[f"layer{layer}_raw"].transpose(0, 1).reshape(states.shape), STATES)
    for number, (after,) in pooled.items():
        assert_close(scores[number][0], out[f"score_logits{number}"].squeeze(-1).sigmoid() + 1e-5, STATES)
        assert_close(after.states, out[f"encoder_state{int(number) + 1}"].transpose(0, 1), STATES)
    assert_close(encoded.states, out["encoder_out"].transpose(0, 1), STATES)
    assert torch.equal(encoded.mask, ~out["encoder_padding_mask"])


@CASES
def test_logits_loss_and_gradients(file: Path) -> None:
    known = reference(file)
    model, out = known.model(), known.case.group("out")
    previous, target = known.case.tensors["in/prev_output_tokens"], known.case.tensors["in/target"]
    logits = model.head(previous, model.encoder(known.batch))
    assert_close(logits.detach(), out["decoder_logits"], LOGITS)
    loss = functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=known.pad_id, reduction="sum")
    assert_close(loss.detach(), out["nll_sum"], LOSS)
    loss.backward()
    norms = {
        table(known.config.halvings).to_theirs(name): parameter.grad.norm().item()
        for name, parameter in model.named_parameters()
    }
    expected = {name: norm for name, norm in known.case.facts.get("grad_norms", {}).items() if norm is not None}
    assert not expected or norms == pytest.approx(expected, rel=10 * GRADIENT, abs=GRADIENT)


@CASES
@torch.no_grad()
def test_cross_attention_of_the_decoder(file: Path) -> None:
    known = reference(file)
    model = known.model()
    last = model.head.decoder.layers[-1].cross_attention
    means: list[Tensor] = []
    attend = last.attend

    def note(states: Tensor, memory: Any, scorer: VisibleKeys) -> Tensor:
        query = split_heads(last.query(states), last.heads)
        means.append(attention_probabilities(query, memory.key, scorer.mask.flatten(1)).mean(1))
        return attend(states, memory, scorer)

    last.attend = note
    model.head(known.case.tensors["in/prev_output_tokens"], model.encoder(known.batch))
    assert_close(means[0], known.case.tensors["out/cross_attention_mean"], STATES)


@CASES
@torch.no_grad()
def test_hiding_padding_changes_only_padded_documents(file: Path) -> None:
    known = reference(file)
    model = known.model(replace(known.config, padding="masked"))
    masked, theirs = model.encoder(known.batch), known.case.tensors["out/encoder_out"].transpose(0, 1)
    full = known.case.tensors["in/src_lengths"] >= known.config.max_length
    plain = not known.config.block and not any(known.config.halvings)  # in this model the release hides padding too
    for document, mask in enumerate(masked.mask):
        states = masked.states[document, mask]
        difference = (states - theirs[document, : len(states)]).abs().max()
        assert difference < STATES if full[document] or plain else difference > 100 * STATES
