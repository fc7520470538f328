"""Masked visual-language modelling: predict hidden words from their neighbours and their places (boxes stay visible).

BERT's scheme as the Skim-Attention release uses it: 15 % of the non-special tokens are targets; of these 80 % become the
mask token, 10 % a random one of the whole vocabulary, 10 % stay.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.answers import Entity
from layoutray.batching.collate import IGNORED
from layoutray.batching.examples import Example
from layoutray.batching.windows import Window
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.tasks import Certainties, Corruption, TaskModel, targets_of
from layoutray.tensors import Batch, Encoded, Encoder
from layoutray.tokenizer import Tokenizer

_ANSWERS_NOTHING = "a masked_lm checkpoint finds no entities; fine-tune it with `layoutray finetune` and use that checkpoint"


class MaskedLanguageModelHead(nn.Module):
    """Dense, gelu, LayerNorm, and a decoder tied to the word embedding, with a bias per word."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.dense = nn.Linear(encoder.width, encoder.width)
        self.norm = nn.LayerNorm(encoder.width, eps=encoder.norm_epsilon)
        self.decoder = nn.Linear(encoder.width, encoder.word_embedding.num_embeddings)
        self.decoder.weight = encoder.word_embedding.weight

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch kept vocabulary"]:
        return self._decode(encoded.states)

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        """Summed over targets. Only their states are decoded: six in seven rows of the vocabulary product are saved."""
        targets = targets_of(encoded, batch)
        chosen = targets != IGNORED
        return functional.cross_entropy(self._decode(encoded.states[chosen]).float(), targets[chosen], reduction="sum")

    def _decode(self, states: Tensor) -> Tensor:
        return self.decoder(self.norm(functional.gelu(self.dense(states))))


@dataclass(frozen=True)
class _Masking:
    tokenizer: Tokenizer
    share: float

    def __call__(self, batch: Batch, generator: torch.Generator) -> Batch:
        ids = batch.input_ids
        special = torch.isin(ids, torch.tensor(self.tokenizer.special_ids))
        chance = torch.rand(ids.shape, generator=generator)
        target = (chance < self.share) & ~special
        fate = torch.rand(ids.shape, generator=generator)
        random_ids = torch.randint(self.tokenizer.vocab_size, ids.shape, generator=generator)
        corrupted = torch.where(target & (fate < 0.8), torch.full_like(ids, self.tokenizer.mask_id), ids)
        corrupted = torch.where(target & (fate >= 0.9), random_ids, corrupted)
        return replace(batch, input_ids=corrupted, labels=ids.masked_fill(~target, IGNORED))


class MaskedLanguageModel:
    """See the module's docstring."""

    name = "masked_lm"
    objective: tuple[str, Literal["min", "max"]] = ("perplexity", "min")

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        return ()

    def targets(self, page: Page, window: Window, labels: Sequence[str]) -> list[int] | None:
        return None

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        return MaskedLanguageModelHead(encoder)

    def corruption(self, tokenizer: Tokenizer, mask_share: float) -> Corruption:
        return _Masking(tokenizer, mask_share)

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list[tuple[float, int]]:
        assert batch.labels is not None
        return [(float(model(batch)), int((batch.labels != IGNORED).sum()))]

    def summarise(self, observations: Sequence[tuple[float, int]], labels: Sequence[str]) -> dict[str, float]:
        """Mean loss over all masked tokens, and its exponential, the perplexity."""
        # fsum: the same result in whatever order workers hand in their part.
        total, count = math.fsum(loss for loss, _ in observations), sum(count for _, count in observations)
        if count == 0:
            raise InputError("no token was masked; the set is empty or task.mask_share is 0")
        return {"loss": total / count, "perplexity": math.exp(total / count), "masked_tokens": float(count)}

    def confusion(self, observations: Sequence[tuple[float, int]], labels: Sequence[str]) -> Counter[tuple[str, str]]:
        return Counter()

    def temperature(self, observations: Sequence[tuple[float, int]]) -> float:
        return 1.0

    def certainties(self, observations: Sequence[tuple[float, int]], labels: Sequence[str], temperature: float) -> Certainties:
        return np.zeros(0), np.zeros(0, np.bool_)

    def answer(self, page: Page, outputs: Sequence[tuple[Example, Tensor]], labels: Sequence[str]) -> tuple[Entity, ...]:
        raise InputError(_ANSWERS_NOTHING)

    def marked(self, page: Page, tags: Sequence[str | None], sure: Sequence[float]) -> tuple[Entity, ...]:
        raise InputError(_ANSWERS_NOTHING)


TASK = MaskedLanguageModel()
