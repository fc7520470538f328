"""What SkimmingMask saves when it computes only the scores that its mask leaves, beside the dense computation that it must equal."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from layoutray import architectures
from layoutray.architectures.skimming_mask import SkimmingMask, SkimmingMaskConfig, skimming_mask
from benchmarks.measure.clock import seconds
from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError
from layoutray.nn.gathered_attention import key_lists
from layoutray.tensors import Batch


@dataclass(frozen=True, slots=True)
class Saving:
    """Gathered beside dense, on the same windows with the same weights.

    Attributes:
        scores: computed, over those of the whole matrix.
        inference, training: dense seconds over gathered ones, the median of the rounds; above 1 is a saving.
        difference: the largest between the states of real tokens.
    """

    top_k: int
    block: int
    scores: float
    inference: float
    training: float
    difference: float


def measure(loaded: Checkpoint, batch: Batch, top_k: int, block: int, rounds: int) -> Saving:
    """Both ways over `batch`, whose windows may be longer than those that the checkpoint was trained on.

    Raises:
        InputError: when the checkpoint is no SkimmingMask.
    """
    if loaded.recipe.arch != "skimming_mask":
        raise InputError(
            f"the checkpoint's architecture is {loaded.recipe.arch}; this is measured with a checkpoint of skimming_mask"
        )
    config: SkimmingMaskConfig = replace(
        loaded.recipe.arch_config, top_k=top_k, block=block, max_length=batch.input_ids.shape[1]
    )
    dense, gathered = (_encoder(loaded, replace(config, attention=way)) for way in ("dense", "gathered"))
    with torch.no_grad():
        seen = skimming_mask(dense.skim(batch), batch.mask, top_k)
        difference = (dense(batch).states - gathered(batch).states)[batch.mask].abs().max()
    device = batch.mask.device
    return Saving(
        top_k,
        block,
        scores=key_lists(seen, batch.mask, block).share,
        inference=_ratio(lambda: _infer(dense, batch), lambda: _infer(gathered, batch), rounds, device),
        training=_ratio(lambda: _train(dense.train(), batch), lambda: _train(gathered.train(), batch), rounds, device),
        difference=float(difference),
    )


def _encoder(loaded: Checkpoint, config: SkimmingMaskConfig) -> SkimmingMask:
    vocabulary = loaded.tokenizer
    made: Any = architectures.load("skimming_mask").build(
        config, vocab_size=vocabulary.vocab_size, pad_id=vocabulary.pad_id
    )
    state = dict(loaded.model.encoder.state_dict())
    places: Tensor = state["position_embedding.weight"]
    # What stands at places beyond the trained ones changes no time.
    state["position_embedding.weight"] = places.repeat(-(-config.max_length // len(places)), 1)[: config.max_length]
    made.load_state_dict(state)
    return cast(SkimmingMask, made.eval())


@torch.no_grad()
def _infer(encoder: nn.Module, batch: Batch) -> None:
    encoder(batch)


def _train(encoder: nn.Module, batch: Batch) -> None:
    encoder(batch).states.square().mean().backward()


def _ratio(dense: Callable[[], None], gathered: Callable[[], None], rounds: int, device: torch.device) -> float:
    """In turns, after one of each that does not count."""
    taken = [(seconds(dense, device), seconds(gathered, device)) for _ in range(rounds + 1)]
    return statistics.median(one / other for one, other in taken[1:])
