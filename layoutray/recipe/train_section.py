"""The section `[train]` of a training recipe."""

import math
from dataclasses import dataclass
from typing import Literal

from layoutray.errors import RecipeError

_LARGEST_MICRO_BATCH = 4
"""Examples, unless a recipe states another number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainRecipe:
    """Optimisation.

    Attributes:
        steps: optimiser steps.
        batch_size: examples per step, over all workers and accumulations.
        micro_batch_size: largest number of examples per forward pass; it divides `batch_size`, or is lowered to a
            smaller one. 0 takes the greatest divisor of `batch_size` up to 4. Each micro-batch has its own random
            numbers, so that the loss does not depend on the number of workers that share a step.
        micro_batch_tokens: largest number of tokens per forward pass, padding included; a longer window is alone. 0 is
            no limit.
        windows: `packed` computes only the real tokens, and in the last layer only those with targets, where the
            architecture can (`tensors.PacksTokens`); `padded` computes all tokens. Both give the same loss, but dropout
            draws other random numbers.
        pad_to_multiple_of: lengths of windows are padded to a multiple of this, but never beyond `max_length`; 64 is
            fast on GPUs. The loss is the same, but dropout draws other random numbers.
        dropout: `fast` draws dropout on a CPU with a faster generator than `torch`: other random numbers, the same
            probabilities.
        compile: compile each layer (`torch.compile`); needs a C++ compiler for a CPU, a C compiler for a GPU. It takes
            time at the first step and at the first evaluation. The loss is the same, but dropout of `torch` draws other
            random numbers. Not with `packed` windows, which have other lengths in each batch.
        activation_checkpointing: keep only the inputs of layers, and compute the layers again in the backward pass:
            less memory, the same loss, about a third more time.
        learning_rate: peak, after warm-up.
        new_parts_factor: factor on the learning rate of the encoder's parameters that no starting checkpoint gives, for
            example of coordinate tables beside a text encoder. A value other than 1 needs a starting checkpoint.
        start_share: the model that is evaluated and kept has this share of the weights with which the training started,
            and the rest of those that it has learned (WiSE-FT, Wortsman et al., arXiv:2109.01903, equation 1). 0 keeps
            what was learned. Other values need a starting checkpoint that gives all weights, those of the head too.
        warmup_steps: steps of linear increase from 0; then the rate decreases linearly to 0 at `steps`.
        weight_decay: of all parameters except biases and norms.
        clip: largest gradient norm; 0 is off.
        precision: `bf16` autocast (for GPUs, and for CPUs with bf16 multiplication), `fp32`, or `auto`: bf16 where the
            device has instructions for it.
        report_every: steps between two reports, which state the mean loss and the speed of the steps since the last
            one. A report waits for the GPU. Each save and each evaluation comes after a report.
        evaluate_every, checkpoint_every: in steps; 0 means only at the end of training.
        patience: stop after this many evaluations without an improvement; 0 is off.
        box_jitter: stretch and shift the boxes of each training window by up to this share of the page; 0, as in the
            papers, is off.
        word_masking: replace the tokens of about this share of the words of each training window by the mask token; 0,
            as in the papers, is off.
        shuffle_window: number of examples that are shuffled as a whole; larger data are shuffled in blocks, and then in
            groups of blocks with about this many examples.
        documents: number of training documents, chosen by the seed; 0 takes all. The documents of a smaller number are
            among those of a larger one.
        folds: number of equal parts of the training documents, for cross-validation; 0 does not divide them.
        fold: the part, from 1, that is left out of the training; 0 leaves out none. `documents` chooses among the rest.
        dev_examples: largest number of dev examples that an evaluation reads, chosen by the seed; 0 reads all.
    """

    steps: int
    batch_size: int = 8
    micro_batch_size: int = 0
    micro_batch_tokens: int = 0
    windows: Literal["padded", "packed"] = "padded"
    pad_to_multiple_of: int = 1
    dropout: Literal["torch", "fast"] = "torch"
    compile: bool = False
    activation_checkpointing: bool = False
    learning_rate: float = 1e-4
    new_parts_factor: float = 1.0
    start_share: float = 0.0
    warmup_steps: int = 0
    weight_decay: float = 0.01
    adam_beta1: float = 0.9
    adam_beta2: float = 0.999
    adam_epsilon: float = 1e-8
    clip: float = 1.0
    precision: Literal["fp32", "bf16", "auto"] = "fp32"
    report_every: int = 1
    evaluate_every: int = 0
    checkpoint_every: int = 0
    patience: int = 0
    box_jitter: float = 0.0
    word_masking: float = 0.0
    shuffle_window: int = 1 << 20
    documents: int = 0
    folds: int = 0
    fold: int = 0
    dev_examples: int = 0

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "pad_to_multiple_of", "report_every", "shuffle_window"):
            if getattr(self, name) < 1:
                raise RecipeError(f"train.{name} is {getattr(self, name)}; it must be at least 1")
        for name in (
            "learning_rate",
            "new_parts_factor",
            "warmup_steps",
            "weight_decay",
            "clip",
            "evaluate_every",
            "checkpoint_every",
            "patience",
            "documents",
            "folds",
            "fold",
            "dev_examples",
            "micro_batch_size",
            "micro_batch_tokens",
        ):
            if not 0 <= getattr(self, name) < math.inf:
                raise RecipeError(f"train.{name} is {getattr(self, name)}; it must be a number that is not negative")
        for name in ("start_share", "box_jitter", "word_masking"):
            if not 0 <= getattr(self, name) < 1:
                raise RecipeError(f"train.{name} is {getattr(self, name)}; it must be at least 0 and below 1")
        if self.folds == 1 or self.fold > self.folds:
            raise RecipeError(
                f"train.folds is {self.folds} and train.fold is {self.fold}; folds must be 0 or at least 2, and "
                "fold at most folds"
            )
        if self.compile and self.windows == "packed":
            raise RecipeError(
                "train.compile is true and train.windows is 'packed', whose batches have windows of other lengths, so "
                "that each would be compiled again; set train.windows to 'padded', or train.compile to false"
            )
        object.__setattr__(self, "micro_batch_size", self._micro_batch_size())
        if self.warmup_steps > self.steps:
            raise RecipeError(f"train.warmup_steps {self.warmup_steps} must not exceed train.steps {self.steps}")

    def _micro_batch_size(self) -> int:
        if not self.micro_batch_size:
            return max(size for size in range(1, _LARGEST_MICRO_BATCH + 1) if self.batch_size % size == 0)
        if self.batch_size > self.micro_batch_size and self.batch_size % self.micro_batch_size:
            raise RecipeError(
                f"train.batch_size {self.batch_size} must be a multiple of "
                f"train.micro_batch_size {self.micro_batch_size}; set the latter to 0 to have it chosen"
            )
        return min(self.micro_batch_size, self.batch_size)
