"""Masked visual-language modelling: predict hidden words from their neighbours and their places (boxes stay visible).

BERT's scheme as the Skim-Attention release uses it: 15 % of the non-special tokens are targets; of these 80 % become the
mask token, 10 % a random one of the whole vocabulary, 10 % stay.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.batching.collate import IGNORED
from layoutray.tasks import Corruption, Writing, targets_of
from layoutray.tasks.word_prediction import WordPrediction
from layoutray.tensors import Batch, Encoded, Encoder
from layoutray.tokenizer import Tokenizer


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


class MaskedLanguageModel(WordPrediction):
    """See the module's docstring."""

    name = "masked_lm"
    predicted = "masked_tokens"

    def head(self, encoder: Encoder, num_labels: int, dropout: float, writing: Writing) -> nn.Module:
        return MaskedLanguageModelHead(encoder)

    def corruption(self, tokenizer: Tokenizer, mask_share: float) -> Corruption:
        return _Masking(tokenizer, mask_share)


TASK = MaskedLanguageModel()
