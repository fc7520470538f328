"""Training and generation by depth: what each further encoder layer costs where the text gets shorter on the way, and where it does not.

A text is read and its first words are written. At each depth the pyramid is as in the paper's six layers: the third and the fourth leave
a quarter each; where there are fewer than four, the last two do.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from layoutray import architectures
from layoutray.architectures.pyramidion import PyramidionConfig
from layoutray.bench import clock
from layoutray.bench.step_speed import training_step
from layoutray.nn.beam_search import BeamSearchSettings, beam_search
from layoutray.nn.decoder import Decoder, DecoderConfig
from layoutray.nn.encoder_family import EncoderName
from layoutray.tensors import Batch, Encoder

_PAD, _START, _END = 0, 1, 2
_HALVINGS = (2, 2)
"""Of the layers that pool: each leaves a quarter."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is measured, at every depth alike.

    Attributes:
        width: of the states; feed-forward blocks are four times as wide.
        length: tokens of each text.
        block: tokens that attend to each other.
        written: words written, in training and in generation.
        batch: texts at once.
        decoder_layers: at every depth.
        vocabulary: words.
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
class Measured:
    """One encoder at one depth, medians of the rounds.

    Attributes:
        training: seconds of a step.
        generation: seconds to read a batch and write the words, greedily.
    """

    encoder: EncoderName
    depth: int
    training: float
    generation: float


class Writer(nn.Module):
    """An encoder and a decoder that learns to write the first words of what it reads."""

    def __init__(self, encoder: nn.Module, config: DecoderConfig, written: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = Decoder(cast(Encoder, encoder).word_embedding, config)
        self.written = written

    def forward(self, batch: Batch) -> Tensor:
        """Mean loss by teacher forcing."""
        words = batch.input_ids[:, : self.written]
        logits = self.decoder(functional.pad(words[:, :-1], (1, 0), value=_START), self.encoder(batch))
        return functional.cross_entropy(logits.flatten(0, 1), words.flatten())

    @torch.no_grad()
    def write(self, batch: Batch) -> Tensor:
        """Exactly as many words."""
        search = BeamSearchSettings(_START, _END, max_length=self.written, min_length=self.written)
        return beam_search(self.decoder, self.encoder(batch), search).tokens


def configuration(encoder: EncoderName, depth: int, sizes: Sizes) -> PyramidionConfig:
    """An encoder of `depth` layers."""
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


def measure(sizes: Sizes, encoders: Sequence[EncoderName], depth: int, rounds: int) -> list[Measured]:
    """Each encoder in turn, round by round, so that a machine that slows down slows all; a first round does not count."""
    device = clock.device()
    torch.manual_seed(0)
    batch = _batch(sizes).to(device)
    writers: dict[EncoderName, Writer] = {
        encoder: _writer(configuration(encoder, depth, sizes), sizes).to(device) for encoder in encoders
    }
    steps: dict[EncoderName, Callable[[], None]] = {
        encoder: training_step(writer, writer, batch, device) for encoder, writer in writers.items()
    }
    training: dict[EncoderName, list[float]] = {encoder: [] for encoder in encoders}
    generation: dict[EncoderName, list[float]] = {encoder: [] for encoder in encoders}
    for _ in range(rounds + 1):
        for encoder, writer in writers.items():
            writer.train()
            training[encoder].append(clock.seconds(steps[encoder], device))
            writer.eval()
            generation[encoder].append(clock.seconds(partial(writer.write, batch), device))
    return [
        Measured(encoder, depth, statistics.median(training[encoder][1:]), statistics.median(generation[encoder][1:]))
        for encoder in encoders
    ]


def _writer(config: PyramidionConfig, sizes: Sizes) -> Writer:
    architecture = architectures.load("pyramidion")
    encoder = architecture.build(config, vocab_size=sizes.vocabulary, pad_id=_PAD)
    decoder = DecoderConfig(layers=sizes.decoder_layers, heads=sizes.heads, feed_forward=config.feed_forward)
    writer = Writer(encoder, decoder, sizes.written)
    architecture.initialise(writer.decoder, config.hidden)
    return writer


def _batch(sizes: Sizes) -> Batch:
    shape = (sizes.batch, sizes.length)
    ids = torch.randint(_END + 1, sizes.vocabulary, shape)
    return Batch(ids, torch.zeros(*shape, 4, dtype=torch.int64), torch.ones(shape, dtype=torch.bool))
