"""The pretraining of LAMBERT's autoencoder (its appendix): paint what stands round each word from the vector that was made of it.

Only the encoder's layout embedding is trained, from places alone; texts go unread, and all other weights stay as they are.
"""

from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.batching.collate import IGNORED
from layoutray.errors import InputError
from layoutray.nn.word_bitmaps import PIXELS, BitmapDecoder
from layoutray.tasks import Corruption, Writing
from layoutray.tasks.word_prediction import WordPrediction
from layoutray.tensors import Batch, Encoder, HasLayoutAutoencoder
from layoutray.tokenizer import Tokenizer


class NeighbourhoodHead(nn.Module):
    """The other half of the autoencoder."""

    def __init__(self) -> None:
        super().__init__()
        self.painter = BitmapDecoder()

    def loss_of(self, encoder: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Cross-entropy of pixels: the mean over each bitmap, summed over words."""
        pictures, vectors = cast(HasLayoutAutoencoder, encoder).encode_bitmaps(batch)
        painted = self.painter(vectors).float()
        return functional.binary_cross_entropy_with_logits(painted, pictures.float(), reduction="sum") / PIXELS**2


def _words(batch: Batch, generator: torch.Generator) -> Batch:
    """A target on the first token of each word: one bitmap each."""
    assert batch.word_index is not None, "neighbourhoods need a batch that says which words it holds"
    before = functional.pad(batch.word_index[:, :-1], (1, 0), value=-1)
    first = (batch.word_index >= 0) & (batch.word_index != before)
    return replace(batch, labels=torch.zeros_like(batch.input_ids).masked_fill(~first, IGNORED))


class Neighbourhoods(WordPrediction):
    """See the module's docstring. The `perplexity` is a pixel's, from 1 (all is painted as it is) to 2 (nothing is known)."""

    name = "neighbourhoods"
    predicted = "neighbourhoods"

    def head(self, encoder: Encoder, num_labels: int, dropout: float, writing: Writing) -> nn.Module:
        """Freezes all of the encoder but what is trained here.

        Raises:
            InputError: when the encoder has no such layout embedding.
        """
        if not isinstance(encoder, HasLayoutAutoencoder):
            raise InputError(
                "task neighbourhoods trains LAMBERT's autoencoder alone; take model.arch=lambert, model.layout=autoencoder"
            )
        trained = encoder.layout_autoencoder()
        cast(nn.Module, encoder).requires_grad_(False)
        trained.requires_grad_(True)
        return NeighbourhoodHead()

    def corruption(self, tokenizer: Tokenizer, mask_share: float) -> Corruption:
        return _words


TASK = Neighbourhoods()
