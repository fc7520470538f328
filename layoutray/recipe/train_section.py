"""The section `[train]` of a training recipe."""

import math
from dataclasses import dataclass
from typing import Literal

from layoutray.errors import RecipeError

_LARGEST_MICRO_BATCH = 4
"""Examples, unless a recipe states another number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainRecipe:
    """Optimisation. docs/recipes.md explains the keys.

    `packed` windows need an architecture that is a `tensors.PacksTokens`.
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
