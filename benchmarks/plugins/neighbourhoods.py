"""The pretraining of LAMBERT's layout autoencoder (appendix of the paper).

The task is to draw the bitmap of each word's surroundings from the vector that the autoencoder made of it.

Only the encoder's layout embedding is trained, from boxes alone. Texts are not read, and all other weights are
unchanged.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.plugins.word_bitmaps import PIXELS, AutoencoderLayout, BitmapDecoder, BitmapEmbedding
from layoutray.architectures.lambert import Lambert, token_places
from layoutray.batching.collate import IGNORED
from layoutray.errors import InputError
from layoutray.tasks import Corruption, Task
from layoutray.tasks.word_prediction import WordPrediction
from layoutray.tensors import Batch, Encoder
from layoutray.tokenizer import Tokenizer


class NeighbourhoodHead(nn.Module):
    """The decoding half of the autoencoder."""

    def __init__(self) -> None:
        super().__init__()
        self.painter = BitmapDecoder()

    def encoder_loss(self, encoder: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Cross-entropy of pixels: the mean over each bitmap, summed over words."""
        embedding = _autoencoder(encoder)
        places = token_places(batch, next(embedding.parameters()).dtype)
        bitmaps, _ = embedding.bitmaps(places.scaled, places.word_index)
        painted = self.painter(embedding.encode(bitmaps)).float()
        return functional.binary_cross_entropy_with_logits(painted, bitmaps.float(), reduction="sum") / PIXELS**2


def _autoencoder(encoder: nn.Module) -> BitmapEmbedding:
    if not (isinstance(encoder, Lambert) and isinstance(encoder.layout, AutoencoderLayout)):
        raise InputError(
            "task neighbourhoods trains LAMBERT's autoencoder alone; "
            "set model.arch=lambert and model.layout=autoencoder"
        )
    return encoder.layout.embedding


def _mark_words(batch: Batch, generator: torch.Generator) -> Batch:
    """Put a target on the first token of each word, because a word has one bitmap."""
    assert batch.word_index is not None, "task neighbourhoods needs a batch with the word of each token"
    previous = functional.pad(batch.word_index[:, :-1], (1, 0), value=-1)
    first = (batch.word_index >= 0) & (batch.word_index != previous)
    return replace(batch, labels=torch.zeros_like(batch.input_ids).masked_fill(~first, IGNORED))


@dataclass(frozen=True)
class Neighbourhoods(WordPrediction):
    """See the module's docstring. `perplexity` is that of a pixel: 1 is a perfect prediction, 2 is a random guess."""

    name: str = "neighbourhoods"
    predicted: ClassVar[str] = "neighbourhoods"

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        """The head; freezes all of the encoder except its layout embedding.

        Raises:
            InputError: when the encoder has no layout autoencoder.
        """
        trained = _autoencoder(cast(nn.Module, encoder))
        cast(nn.Module, encoder).requires_grad_(False)
        trained.requires_grad_(True)
        return NeighbourhoodHead()

    def corruption(self, tokenizer: Tokenizer) -> Corruption:
        return _mark_words


TASK: type[Task] = Neighbourhoods
