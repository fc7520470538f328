"""Time of training and generation by number of encoder layers, with and without pooling between the layers.

The model reads a text and generates its first words. Pooling is placed as in the paper's six layers: layers three and
four each keep a quarter of their tokens; with fewer than four layers, the last two do.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.measure import clock
from benchmarks.measure.training_step import training_step
from layoutray import architectures
from layoutray.architectures.pyramidion import PyramidionConfig
from layoutray.nn.beam_search import BeamSearchSettings, beam_search
from layoutray.nn.decoder import Decoder, DecoderConfig
from layoutray.tensors import Batch, Encoder

_PAD, _START, _END = 0, 1, 2
_HALVINGS = (2, 2)
"""Of the two layers that pool; each keeps a quarter of its tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthSizes:
    """Sizes that are the same at every depth.

    Attributes:
        width: of the states; feed-forward blocks are four times as wide.
        length: tokens of each text.
        block: tokens of a block; attention stays within a block.
        written: generated words, in training and in generation.
        batch: texts per batch.
        decoder_layers: number of decoder layers.
        vocabulary: number of words.
    """

    width: int
    heads: int
    length: int
    block: int
    written: int
    batch: int
    decoder_layers: int = 2
    vocabulary: int = 8000


@dataclass(frozen=True, slots=True)
class DepthTiming:
    """One encoder at one depth, medians over the rounds.

    Attributes:
        training: seconds of a training step.
        generation: seconds to encode a batch and generate the words greedily.
    """

    encoder: str
    depth: int
    training: float
    generation: float


class CopyModel(nn.Module):
    """An encoder and a decoder that learns to generate the first words of the input."""

    def __init__(self, encoder: nn.Module, config: DecoderConfig, written: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = Decoder(cast(Encoder, encoder).word_embedding, config)
        self.written = written

    def forward(self, batch: Batch) -> Tensor:
        """Mean loss with teacher forcing."""
        words = batch.input_ids[:, : self.written]
        logits = self.decoder(functional.pad(words[:, :-1], (1, 0), value=_START), self.encoder(batch))
        return functional.cross_entropy(logits.flatten(0, 1), words.flatten())

    @torch.no_grad()
    def generate(self, batch: Batch) -> Tensor:
        """Exactly `written` words for each text: (batch, 1, written)."""
        search = BeamSearchSettings(start_id=_START, end_id=_END, max_length=self.written, min_length=self.written)
        return beam_search(self.decoder, self.encoder(batch), search).tokens


def configuration(encoder: str, depth: int, sizes: DepthSizes) -> PyramidionConfig:
    """Configuration of an encoder with `depth` layers."""
    before = min(2, max(depth - len(_HALVINGS), 0))
    halvings = ((0,) * before + _HALVINGS + (0,) * depth)[:depth]
    return PyramidionConfig(
        hidden=sizes.width,
        layers=depth,
        heads=sizes.heads,
        feed_forward=4 * sizes.width,
        max_length=sizes.length,
        encoder=encoder,
        block=sizes.block,
        halvings=halvings,
    )


def measure_depth(sizes: DepthSizes, encoders: Sequence[str], depth: int, rounds: int) -> list[DepthTiming]:
    """Time all encoders in each round, so that a slower machine affects all alike; the first round is warm-up."""
    device = clock.device()
    torch.manual_seed(0)
    batch = _batch(sizes).to(device)
    models: dict[str, CopyModel] = {
        encoder: _model(configuration(encoder, depth, sizes), sizes).to(device) for encoder in encoders
    }
    steps: dict[str, Callable[[], None]] = {
        encoder: training_step(model, model, batch, device) for encoder, model in models.items()
    }
    training: dict[str, list[float]] = {encoder: [] for encoder in encoders}
    generation: dict[str, list[float]] = {encoder: [] for encoder in encoders}
    for _ in range(rounds + 1):
        for encoder, model in models.items():
            model.train()
            training[encoder].append(clock.seconds(steps[encoder], device))
            model.eval()
            generation[encoder].append(clock.seconds(partial(model.generate, batch), device))
    return [
        DepthTiming(
            encoder, depth, statistics.median(training[encoder][1:]), statistics.median(generation[encoder][1:])
        )
        for encoder in encoders
    ]


def _model(config: PyramidionConfig, sizes: DepthSizes) -> CopyModel:
    architecture = architectures.load("pyramidion")
    encoder = architecture.build(config, vocab_size=sizes.vocabulary, pad_id=_PAD)
    decoder = DecoderConfig(layers=sizes.decoder_layers, heads=sizes.heads, feed_forward=config.feed_forward)
    model = CopyModel(encoder, decoder, sizes.written)
    architecture.initialise(model.decoder, config.hidden)
    return model


def _batch(sizes: DepthSizes) -> Batch:
    shape = (sizes.batch, sizes.length)
    ids = torch.randint(_END + 1, sizes.vocabulary, shape)
    return Batch(
        input_ids=ids, boxes=torch.zeros(*shape, 4, dtype=torch.int64), mask=torch.ones(shape, dtype=torch.bool)
    )
