"""What tasks share whose model reads a whole document and writes a text about it, one word after the other."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.batching.collate import IGNORED
from layoutray.nn.decoder import Decoder
from layoutray.tasks import Corruption, Writing, unchanged
from layoutray.tasks.word_prediction import WordPrediction
from layoutray.tensors import Batch, Encoded, Encoder
from layoutray.tokenizer import Tokenizer


class WritingHead(nn.Module):
    """A decoder, and its loss by teacher forcing: each word is predicted from the true ones before it."""

    def __init__(self, encoder: Encoder, writing: Writing) -> None:
        super().__init__()
        self.decoder = Decoder(encoder.word_embedding, writing.decoder)
        self.label_smoothing = writing.label_smoothing
        self.begin = writing.begin

    def forward(
        self, previous: Int[Tensor, "batch steps"], encoded: Encoded
    ) -> Float[Tensor, "batch steps vocabulary"]:
        return self.decoder(previous, encoded)

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        """Summed over words; labels are smoothed in training alone, so that evaluations can be compared."""
        assert batch.labels is not None, "a loss needs a batch with texts to write"
        # Every example begins with the start token and ends with the end token.
        places = (
            batch.mask.sum(1, keepdim=True) - 1 if self.begin == "end" else torch.zeros_like(batch.input_ids[:, :1])
        )
        words = torch.cat([batch.input_ids.gather(1, places), batch.labels[:, :-1]], 1)
        logits = self(words.masked_fill(words == IGNORED, self.decoder.pad_id), encoded).float()
        smoothing = self.label_smoothing if self.training else 0.0
        return functional.cross_entropy(
            logits.flatten(0, 1),
            batch.labels.flatten(),
            ignore_index=IGNORED,
            reduction="sum",
            label_smoothing=smoothing,
        )


class Writer(WordPrediction):
    """The part of such a task that does not depend on what is written."""

    predicted = "written_tokens"
    of_documents = True

    def head(self, encoder: Encoder, num_labels: int, dropout: float, writing: Writing) -> nn.Module:
        return WritingHead(encoder, writing)

    def corruption(self, tokenizer: Tokenizer, mask_share: float) -> Corruption:
        return unchanged
