"""What tasks share whose model reads a whole document and generates a text with a decoder."""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.batching.collate import IGNORED
from layoutray.nn.decoder import Decoder
from layoutray.tasks import Corruption, GenerationSettings, no_corruption
from layoutray.tasks.word_prediction import WordPrediction
from layoutray.tensors import Batch, Encoded, Encoder
from layoutray.tokenizer import Tokenizer


class TextGenerationHead(nn.Module):
    """A decoder, trained by teacher forcing: each token is predicted from the true tokens before it."""

    def __init__(self, encoder: Encoder, settings: GenerationSettings) -> None:
        super().__init__()
        self.decoder = Decoder(encoder.word_embedding, settings.decoder)
        self.label_smoothing = settings.label_smoothing
        self.begin = settings.begin

    def forward(
        self, previous: Int[Tensor, "batch steps"], encoded: Encoded
    ) -> Float[Tensor, "batch steps vocabulary"]:
        return self.decoder(previous, encoded)

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        """Cross-entropy summed over tokens. Labels are smoothed in training only, to keep evaluations comparable."""
        assert batch.labels is not None, "a loss needs a batch with texts to generate"
        # The first input of the decoder is the example's own start or end token, at its first or last place.
        places = (
            batch.mask.sum(1, keepdim=True) - 1 if self.begin == "end" else torch.zeros_like(batch.input_ids[:, :1])
        )
        previous = torch.cat([batch.input_ids.gather(1, places), batch.labels[:, :-1]], 1)
        previous = previous.masked_fill(previous == IGNORED, self.decoder.pad_id)
        if self.training and self.label_smoothing:
            return functional.cross_entropy(
                self(previous, encoded).float().flatten(0, 1),
                batch.labels.flatten(),
                ignore_index=IGNORED,
                reduction="sum",
                label_smoothing=self.label_smoothing,
            )
        return -self.decoder.log_probabilities(previous, batch.labels, batch.labels != IGNORED, encoded).sum()


@dataclass(frozen=True)
class TextGeneration(WordPrediction):
    """The part of a text generating task that does not depend on the text. `writing`: how texts are generated."""

    name: str
    writing: GenerationSettings = field(default_factory=GenerationSettings)
    predicted: ClassVar[str] = "written_tokens"
    of_documents: ClassVar[bool] = True

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        return TextGenerationHead(encoder, self.writing)

    def corruption(self, tokenizer: Tokenizer) -> Corruption:
        return no_corruption
