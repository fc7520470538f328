"""SkimmingMask with only the unmasked scores computed, compared with the equivalent dense computation."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from benchmarks.measure.clock import seconds
from layoutray import architectures
from layoutray.architectures.skimming_mask import SkimmingMask, SkimmingMaskConfig, skimming_mask
from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError
from layoutray.nn.gathered_attention import key_lists
from layoutray.tensors import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskSaving:
    """Gathered attention relative to dense attention, on the same windows with the same weights.

    Attributes:
        scores: computed attention scores, as a share of the whole matrix.
        inference, training: dense seconds divided by gathered seconds, median over the rounds; above 1 is faster.
        difference: maximum absolute difference between the states of tokens that are not padding.
    """

    top_k: int
    block: int
    scores: float
    inference: float
    training: float
    difference: float


def measure_saving(loaded: Checkpoint, batch: Batch, top_k: int, block: int, rounds: int) -> MaskSaving:
    """Compare both on `batch`, whose windows may be longer than those of the training.

    Raises:
        InputError: when the checkpoint is not a SkimmingMask.
    """
    if loaded.recipe.arch != "skimming_mask":
        raise InputError(f"the checkpoint's architecture is {loaded.recipe.arch}; take a checkpoint of skimming_mask")
    config: SkimmingMaskConfig = replace(
        loaded.recipe.arch_config, top_k=top_k, block=block, max_length=batch.input_ids.shape[1]
    )
    dense, gathered = (_encoder(loaded, replace(config, attention=kind)) for kind in ("dense", "gathered"))
    with torch.no_grad():
        unmasked = skimming_mask(dense.skim(batch), batch.mask, top_k)
        difference = (dense(batch).states - gathered(batch).states)[batch.mask].abs().max()
    device = batch.mask.device
    return MaskSaving(
        top_k=top_k,
        block=block,
        scores=key_lists(unmasked, batch.mask, block).share,
        inference=_ratio(lambda: _infer(dense, batch), lambda: _infer(gathered, batch), rounds, device),
        training=_ratio(lambda: _train(dense.train(), batch), lambda: _train(gathered.train(), batch), rounds, device),
        difference=float(difference),
    )


def _encoder(loaded: Checkpoint, config: SkimmingMaskConfig) -> SkimmingMask:
    tokenizer = loaded.tokenizer
    encoder: Any = architectures.load("skimming_mask").build(
        config, vocab_size=tokenizer.vocab_size, pad_id=tokenizer.pad_id
    )
    state = dict(loaded.model.encoder.state_dict())
    positions: Tensor = state["position_embedding.weight"]
    # Positions beyond the trained ones repeat these: the values do not change the time.
    state["position_embedding.weight"] = positions.repeat(-(-config.max_length // len(positions)), 1)[
        : config.max_length
    ]
    encoder.load_state_dict(state)
    return cast(SkimmingMask, encoder.eval())


@torch.no_grad()
def _infer(encoder: nn.Module, batch: Batch) -> None:
    encoder(batch)


def _train(encoder: nn.Module, batch: Batch) -> None:
    encoder(batch).states.square().mean().backward()


def _ratio(dense: Callable[[], None], gathered: Callable[[], None], rounds: int, device: torch.device) -> float:
    """Median of dense seconds divided by gathered seconds; the first round is warm-up."""
    rounds_taken = [(seconds(dense, device), seconds(gathered, device)) for _ in range(rounds + 1)]
    return statistics.median(slow / fast for slow, fast in rounds_taken[1:])
