"""Random changes of training windows."""

from dataclasses import dataclass

import torch

from layoutray.batching.jitter import jitter
from layoutray.batching.word_masking import mask_words
from layoutray.tensors import Batch


@dataclass(frozen=True)
class Augmentation:
    """Changes boxes and words of training windows; by default, nothing.

    Attributes:
        box_jitter: see `batching.jitter`.
        word_masking: share of words that are hidden, see `batching.word_masking`.
        mask_id: token that stands for a hidden word.
    """

    box_jitter: float = 0.0
    word_masking: float = 0.0
    mask_id: int = 0

    def __call__(self, batch: Batch, generator: torch.Generator) -> Batch:
        if self.box_jitter:
            batch = jitter(batch, self.box_jitter, generator)
        if self.word_masking:
            batch = mask_words(batch, self.word_masking, self.mask_id, generator)
        return batch
