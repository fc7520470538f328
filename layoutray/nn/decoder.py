"""A transformer decoder: from encoded states to the words of an answer, one after the other.

Post-norm layers of causal self-attention, attention to the encoder's states, and a feed-forward block with ReLU ("Attention Is All You
Need", 2017). One embedding table serves the encoder, the decoder's input and its output. The decoder of "Sparsifying Transformer Models
with Trainable Representation Pooling" (arXiv:2009.05169) has no positions; the one its authors released has.

While it writes, keys and values are kept (`Cache`): what has been written costs nothing again, and the encoder's states are projected once
for all hypotheses of a document.
"""

from dataclasses import dataclass, replace
from typing import Literal, cast

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.errors import InputError
from layoutray.nn.attention import Memory, MultiHeadAttention
from layoutray.nn.block import AddAndNorm, FeedForward
from layoutray.nn.positions import sinusoids
from layoutray.tensors import Encoded

_EPSILON = 1e-5


@dataclass(frozen=True)
class DecoderConfig:
    """The defaults are those of the paper's DeepPyramidion.

    Attributes:
        layers: number of layers.
        heads: attention heads per layer.
        feed_forward: inner width of feed-forward blocks.
        dropout: on embeddings and updates.
        attention_dropout: on attention probabilities.
        positions: `none`, as in the paper, or sinusoidal ones, as in the release (`reference_parity`).
    """

    layers: int = 6
    heads: int = 8
    feed_forward: int = 3072
    dropout: float = 0.1
    attention_dropout: float = 0.1
    positions: Literal["none", "reference_parity"] = "none"


@dataclass(frozen=True)
class Cache:
    """What a decoder remembers between two steps.

    Attributes:
        own: per layer, keys and values of what has been written, one row per hypothesis.
        encoded: per layer, keys and values of the encoder's states, one row per document.
        seen: which of the encoder's states are seen.
        length: words written.
    """

    own: tuple[Memory, ...]
    encoded: tuple[Memory, ...]
    seen: Bool[Tensor, "batch 1 1 kept"]
    length: int

    def of(self, hypotheses: Int[Tensor, " hypotheses"]) -> "Cache":
        """The cache of these hypotheses, which stay with their documents."""
        return replace(self, own=tuple(Memory(*(part[hypotheses] for part in memory)) for memory in self.own))


class DecoderLayer(nn.Module):
    """Attention to what is written, attention to what is read, feed-forward."""

    def __init__(self, width: int, config: DecoderConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(width, config.heads, config.attention_dropout)
        self.self_join = AddAndNorm(width, config.dropout, _EPSILON)
        self.cross_attention = MultiHeadAttention(width, config.heads, config.attention_dropout)
        self.cross_join = AddAndNorm(width, config.dropout, _EPSILON)
        self.feed_forward = FeedForward(width, config.feed_forward, config.dropout, _EPSILON, functional.relu)

    def forward(
        self,
        states: Float[Tensor, "hypotheses steps width"],
        own: tuple[Memory, Bool[Tensor, "#hypotheses 1 steps written"]],
        encoded: tuple[Memory, Bool[Tensor, "batch 1 1 kept"]],
    ) -> Float[Tensor, "hypotheses steps width"]:
        """Both pairs are what is attended to, and which of it is seen; hypotheses of one document follow each other."""
        states = self.self_join(states, self.self_attention.recall(states, *own))
        documents = rearrange(states, "(batch beams) steps width -> batch (beams steps) width", batch=len(encoded[1]))
        update = self.cross_attention.recall(documents, *encoded)
        states = self.cross_join(
            states, rearrange(update, "batch (beams steps) width -> (batch beams) steps width", steps=states.shape[1])
        )
        return self.feed_forward(states)


class Decoder(nn.Module):
    """Logits of each next word.

    Args:
        word_embedding: the encoder's; its padding id hides padding.

    Raises:
        InputError: when the heads do not divide the width.
    """

    def __init__(self, word_embedding: nn.Embedding, config: DecoderConfig) -> None:
        super().__init__()
        width = word_embedding.embedding_dim
        if width % config.heads:
            raise InputError(f"heads is {config.heads}; it must divide the width of the states, which is {width}")
        self.word_embedding = word_embedding
        self.positions = config.positions
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(width, config) for _ in range(config.layers))

    @property
    def pad_id(self) -> int:
        assert self.word_embedding.padding_idx is not None
        return self.word_embedding.padding_idx

    def forward(
        self, previous: Int[Tensor, "batch steps"], encoded: Encoded
    ) -> Float[Tensor, "batch steps vocabulary"]:
        """Teacher forcing: the logits after each of `previous`, which begins with the start word and is padded on the right."""
        cache = self.start(encoded)
        steps = previous.shape[1]
        causal = torch.ones(steps, steps, dtype=torch.bool, device=previous.device).tril()
        seen = causal & (previous != self.pad_id)[:, None, None, :]
        states = self._embed(previous, 0)
        for layer, memory in zip(self._layers, cache.encoded, strict=True):
            states = layer(states, (layer.self_attention.remember(states), seen), (memory, cache.seen))
        return self._words(states)

    def start(self, encoded: Encoded) -> Cache:
        """Nothing written yet. A document of which nothing is kept is seen whole, for want of anything better."""
        seen = encoded.mask | ~encoded.mask.any(1, keepdim=True)
        return Cache(
            (),
            tuple(layer.cross_attention.remember(encoded.states) for layer in self._layers),
            seen[:, None, None, :],
            0,
        )

    def step(
        self, last: Int[Tensor, " hypotheses"], cache: Cache
    ) -> tuple[Float[Tensor, "hypotheses vocabulary"], Cache]:
        """Logits after `last`, the last word of each hypothesis, and the cache with it; each document has equally many hypotheses."""
        states = self._embed(last[:, None], cache.length)
        written: list[Memory] = []
        seen = torch.ones(1, 1, 1, cache.length + 1, dtype=torch.bool, device=last.device)
        for number, (layer, memory) in enumerate(zip(self._layers, cache.encoded, strict=True)):
            own = layer.self_attention.remember(states)
            if cache.own:
                own = Memory(*(torch.cat(parts, 2) for parts in zip(cache.own[number], own, strict=True)))
            written.append(own)
            states = layer(states, (own, seen), (memory, cache.seen))
        return self._words(states)[:, 0], replace(cache, own=tuple(written), length=cache.length + 1)

    @property
    def _layers(self) -> list[DecoderLayer]:
        return [cast(DecoderLayer, layer) for layer in self.layers]

    def _embed(self, words: Int[Tensor, "hypotheses steps"], written: int) -> Float[Tensor, "hypotheses steps width"]:
        width = self.word_embedding.embedding_dim
        states = self.word_embedding(words) * width**0.5
        if self.positions == "reference_parity":
            places = torch.arange(words.shape[1], device=words.device) + written + self.pad_id + 1
            states = states + sinusoids(places, width) * (words != self.pad_id)[..., None]
        return self.dropout(states)

    def _words(self, states: Float[Tensor, "hypotheses steps width"]) -> Float[Tensor, "hypotheses steps vocabulary"]:
        return functional.linear(states, self.word_embedding.weight)
