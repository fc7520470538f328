"""Masked visual-language modelling: predict hidden tokens from the other tokens and from all boxes, which stay visible.

BERT's scheme as the Skim-Attention release uses it: 15 % of the non-special tokens are targets. 80 % of the targets are
replaced by the mask token, 10 % by a random token of the whole vocabulary, and 10 % are unchanged.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.batching.collate import IGNORED
from layoutray.tasks import Corruption, Task
from layoutray.tasks.model import targets_of_states
from layoutray.tasks.word_prediction import WordPrediction, check_mask_share
from layoutray.tensors import Batch, Encoded, Encoder
from layoutray.tokenizer import Tokenizer

_ALIGNED_ROWS = 64


def aligned_linear(
    states: Float[Tensor, "... width"],
    weight: Float[Tensor, "rows width"],
    bias: Float[Tensor, " rows"],
    *,
    align: bool,
) -> Float[Tensor, "... rows"]:
    """`functional.linear`. With `align`, it is computed with a multiple of 64 rows, and the added rows are dropped.

    In bf16 an unaligned number of rows, such as the 30,522 tokens of BERT, keeps a GPU from its fastest kernels. Rows
    are added for each product, which copies the weights, so that checkpoints have the vocabulary's own size.
    """
    missing = -len(weight) % _ALIGNED_ROWS if align else 0
    if not missing:
        return functional.linear(states, weight, bias)
    padded = functional.linear(states, functional.pad(weight, (0, 0, 0, missing)), functional.pad(bias, (0, missing)))
    return padded[..., : len(weight)]


class MaskedLanguageModelHead(nn.Module):
    """Dense layer, GELU, LayerNorm, and a decoder tied to the word embedding, with a bias for each token."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.dense = nn.Linear(encoder.width, encoder.width)
        self.norm = nn.LayerNorm(encoder.width, eps=encoder.norm_epsilon)
        self.decoder = nn.Linear(encoder.width, encoder.word_embedding.num_embeddings)
        self.decoder.weight = encoder.word_embedding.weight

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch kept vocabulary"]:
        return self._decode(encoded.states)

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        """Summed over targets. Only their states are decoded, which saves six of seven rows of the largest product."""
        targets = targets_of_states(encoded, batch)
        hidden = targets != IGNORED
        return self.target_loss(encoded.states[hidden], targets[hidden])

    def target_loss(self, states: Float[Tensor, "targets width"], targets: Int[Tensor, " targets"]) -> Tensor:
        """See `layoutray.tasks.model.TargetHead`."""
        return functional.cross_entropy(self._decode(states).float(), targets, reduction="sum")

    def _decode(self, states: Tensor) -> Tensor:
        hidden = self.norm(functional.gelu(self.dense(states)))
        return aligned_linear(hidden, self.decoder.weight, self.decoder.bias, align=hidden.is_cuda)


@dataclass(frozen=True)
class MaskedLanguageModel(WordPrediction):
    """See the module's docstring. `mask_share`: share of the non-special tokens to predict."""

    name: str = "masked_lm"
    mask_share: float = 0.15
    predicted: ClassVar[str] = "masked_tokens"

    def __post_init__(self) -> None:
        check_mask_share(self.mask_share)

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        return MaskedLanguageModelHead(encoder)

    def corruption(self, tokenizer: Tokenizer) -> Corruption:
        def mask(batch: Batch, generator: torch.Generator) -> Batch:
            ids = batch.input_ids
            special = torch.isin(ids, torch.tensor(tokenizer.special_ids))
            target = (torch.rand(ids.shape, generator=generator) < self.mask_share) & ~special
            replacement = torch.rand(ids.shape, generator=generator)
            random_ids = torch.randint(tokenizer.vocab_size, ids.shape, generator=generator)
            corrupted = torch.where(target & (replacement < 0.8), torch.full_like(ids, tokenizer.mask_id), ids)
            corrupted = torch.where(target & (replacement >= 0.9), random_ids, corrupted)
            return replace(batch, input_ids=corrupted, labels=ids.masked_fill(~target, IGNORED))

        return mask


TASK: type[Task] = MaskedLanguageModel
