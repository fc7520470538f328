"""A transformer decoder, which generates a text token by token from encoded states.

Post-norm layers of causal self-attention, cross-attention to the encoder's states and a feed-forward block with ReLU
("Attention Is All You Need", 2017). The encoder, the decoder's input and the decoder's output share one embedding
table. The decoder of "Sparsifying Transformer Models with Trainable Representation Pooling" (arXiv:2009.05169) has no
positions; that of the authors' release has sinusoidal ones. With a pointer, which that paper does not have, the decoder
can copy tokens of the document (`layoutray.nn.pointer`).

During generation, a `Cache` keeps keys and values: generated tokens are not computed again, and the encoder's states
are projected once for all hypotheses of a document.
"""

from dataclasses import dataclass, replace
from typing import Literal, cast

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.errors import InputError
from layoutray.nn.attention import KeysAndValues, MultiHeadAttention, VisibleKeys
from layoutray.nn.block import AddAndNorm, FeedForward
from layoutray.nn.pointer import LONGEST_RUN, Candidates, Pointed, Pointer, of_vocabulary, run_lengths
from layoutray.nn.positions import sinusoids
from layoutray.tensors import Encoded

_EPSILON = 1e-5


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """Configuration of a decoder; the defaults are the paper's DeepPyramidion.

    Attributes:
        feed_forward: inner width of feed-forward blocks.
        dropout: on embeddings and sub-layer updates.
        attention_dropout: on attention probabilities.
        positions: `none`, as in the paper, or `reference_parity`: sinusoidal, as in the release.
        copying: `pointer` lets the decoder copy tokens of the document; `none`, as in the paper.
    """

    layers: int = 6
    heads: int = 8
    feed_forward: int = 3072
    dropout: float = 0.1
    attention_dropout: float = 0.1
    positions: Literal["none", "reference_parity"] = "none"
    copying: Literal["none", "pointer"] = "none"


@dataclass(frozen=True)
class AttentionSource:
    """Keys and values to attend to, a row for each hypothesis or document; the mask is True on visible keys."""

    memory: KeysAndValues
    mask: Bool[Tensor, "#rows 1 #queries keys"]


@dataclass(frozen=True, kw_only=True)
class Cache:
    """State of a decoder between two generation steps.

    Attributes:
        text: per layer, keys and values of the generated tokens, one row per hypothesis; empty before the first step.
        documents: per layer, the encoder's states, one row per document.
        length: number of generated tokens.
        candidates: the tokens that can be copied, one row per document; None without a pointer.
        last: the last tokens of each hypothesis, as many as the pointer compares; empty before the first step.
    """

    text: tuple[KeysAndValues, ...]
    documents: tuple[AttentionSource, ...]
    length: int
    candidates: Candidates | None = None
    last: Int[Tensor, "hypotheses last"] | None = None

    def select(self, hypotheses: Int[Tensor, " hypotheses"]) -> "Cache":
        """The cache with row i replaced by row `hypotheses[i]`, which must belong to the same document."""
        selected = (KeysAndValues(memory.key[hypotheses], memory.value[hypotheses]) for memory in self.text)
        return replace(self, text=tuple(selected), last=None if self.last is None else self.last[hypotheses])

    def text_memory(self, layer: int, new: KeysAndValues) -> KeysAndValues:
        """Keys and values of `layer` for the generated tokens, followed by the `new` ones."""
        if not self.text:
            return new
        old = self.text[layer]
        return KeysAndValues(torch.cat([old.key, new.key], 2), torch.cat([old.value, new.value], 2))


class DecoderLayer(nn.Module):
    """Self-attention to the generated text, cross-attention to the document, feed-forward."""

    def __init__(self, width: int, config: DecoderConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(width, config.heads, config.attention_dropout)
        self.self_join = AddAndNorm(width, config.dropout, _EPSILON)
        self.cross_attention = MultiHeadAttention(width, config.heads, config.attention_dropout)
        self.cross_join = AddAndNorm(width, config.dropout, _EPSILON)
        self.feed_forward = FeedForward(width, config.feed_forward, config.dropout, _EPSILON, functional.relu)

    def forward(
        self, states: Float[Tensor, "hypotheses steps width"], text: AttentionSource, document: AttentionSource
    ) -> Float[Tensor, "hypotheses steps width"]:
        """The states after this layer. The hypotheses of a document are consecutive rows.

        Args:
            text: keys and values of the generated text, one row per hypothesis.
            document: keys and values of the encoder's states, one row per document.
        """
        states = self.self_join(states, self.self_attention.attend(states, text.memory, VisibleKeys(text.mask)))
        queries = rearrange(states, "(batch beams) steps width -> batch (beams steps) width", batch=len(document.mask))
        update = self.cross_attention.attend(queries, document.memory, VisibleKeys(document.mask))
        states = self.cross_join(
            states, rearrange(update, "batch (beams steps) width -> (batch beams) steps width", steps=states.shape[1])
        )
        return self.feed_forward(states)


class Decoder(nn.Module):
    """Maps a text and encoded states to the logits of each next token.

    Args:
        word_embedding: the encoder's token embeddings; its `padding_idx` is the pad id.

    Raises:
        InputError: if the number of heads does not divide the width.
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
        self.pointer = Pointer(width) if config.copying == "pointer" else None

    @property
    def pad_id(self) -> int:
        assert self.word_embedding.padding_idx is not None
        return self.word_embedding.padding_idx

    def forward(
        self, previous: Int[Tensor, "batch steps"], encoded: Encoded
    ) -> Float[Tensor, "batch steps vocabulary"]:
        """Logits after each token of `previous` (teacher forcing): start token first, padded on the right.

        With a pointer, they are log-probabilities.
        """
        cache = self.start(encoded)
        return self._logits(self._states(previous, cache), previous, cache.candidates)

    def log_probabilities(
        self,
        previous: Int[Tensor, "batch steps"],
        words: Int[Tensor, "batch steps"],
        wanted: Bool[Tensor, "batch steps"],
        encoded: Encoded,
    ) -> Float[Tensor, " wanted"]:
        """log P of the `wanted` ones of `words`, which follow `previous`, without computing all of `forward`."""
        cache = self.start(encoded)
        states = self._states(previous, cache)
        logits, following = self._generated(states[wanted][None]), words[wanted][None]
        if cache.candidates is None:
            return of_vocabulary(logits, following)[0]
        pointed = self._pointed(states, previous, cache.candidates).only(wanted)
        return pointed.log_probabilities(logits, following)[0]

    def sources(
        self, previous: Int[Tensor, "batch steps"], words: Int[Tensor, "batch steps"], encoded: Encoded
    ) -> Int[Tensor, "batch steps"]:
        """The input token that each of `words` is a copy of, -1 where it is generated; `words` follow `previous`."""
        cache = self.start(encoded)
        if cache.candidates is None:
            return torch.full_like(words, -1)
        states = self._states(previous, cache)
        return self._pointed(states, previous, cache.candidates).sources(self._generated(states), words)

    def start(self, encoded: Encoded) -> Cache:
        """The cache before the first step. In a document without real states, all are visible, to avoid NaN."""
        visible = (encoded.mask | ~encoded.mask.any(1, keepdim=True))[:, None, None, :]
        memories = (layer.cross_attention.keys_and_values(encoded.states) for layer in self._layers)
        candidates = None if self.pointer is None else self.pointer.candidates(encoded, self.word_embedding)
        return Cache(
            text=(),
            documents=tuple(AttentionSource(memory, visible) for memory in memories),
            length=0,
            candidates=candidates,
        )

    def step(
        self, last: Int[Tensor, " hypotheses"], cache: Cache
    ) -> tuple[Float[Tensor, "hypotheses vocabulary"], Cache]:
        """Logits after `last`, the last token of each hypothesis, and the cache including it.

        Every document has the same number of hypotheses.
        """
        states = self._embed(last[:, None], cache.length)
        memories: list[KeysAndValues] = []
        mask = torch.ones(1, 1, 1, cache.length + 1, dtype=torch.bool, device=last.device)
        for number, (layer, document) in enumerate(zip(self._layers, cache.documents, strict=True)):
            memories.append(cache.text_memory(number, layer.self_attention.keys_and_values(states)))
            states = layer(states, AttentionSource(memories[-1], mask), document)
        texts = last[:, None] if cache.last is None else torch.cat([cache.last, last[:, None]], 1)[:, -LONGEST_RUN:]
        logits = self._logits(states, texts, cache.candidates)[:, 0]
        return logits, replace(cache, text=tuple(memories), length=cache.length + 1, last=texts)

    @property
    def _layers(self) -> list[DecoderLayer]:
        return [cast(DecoderLayer, layer) for layer in self.layers]

    def _embed(
        self, tokens: Int[Tensor, "hypotheses steps"], first_position: int
    ) -> Float[Tensor, "hypotheses steps width"]:
        width = self.word_embedding.embedding_dim
        states = self.word_embedding(tokens) * width**0.5
        if self.positions == "reference_parity":
            # As in fairseq, the first position is the one after the pad id.
            positions = torch.arange(tokens.shape[1], device=tokens.device) + first_position + self.pad_id + 1
            states = states + sinusoids(positions, width) * (tokens != self.pad_id)[..., None]
        return self.dropout(states)

    def _states(self, previous: Int[Tensor, "batch steps"], cache: Cache) -> Float[Tensor, "batch steps width"]:
        """The states after the last layer, of whole texts."""
        steps = previous.shape[1]
        causal = torch.ones(steps, steps, dtype=torch.bool, device=previous.device).tril()
        mask = causal & (previous != self.pad_id)[:, None, None, :]
        states = self._embed(previous, 0)
        for layer, document in zip(self._layers, cache.documents, strict=True):
            states = layer(states, AttentionSource(layer.self_attention.keys_and_values(states), mask), document)
        return states

    def _logits(
        self,
        states: Float[Tensor, "hypotheses steps width"],
        texts: Int[Tensor, "hypotheses seen"],
        candidates: Candidates | None,
    ) -> Float[Tensor, "hypotheses steps vocabulary"]:
        """Logits of the next tokens; `states` are of the last steps of `texts`."""
        generated = self._generated(states)
        return generated if candidates is None else self._pointed(states, texts, candidates).mixed(generated)

    def _generated(
        self, states: Float[Tensor, "hypotheses steps width"]
    ) -> Float[Tensor, "hypotheses steps vocabulary"]:
        return functional.linear(states, self.word_embedding.weight)

    def _pointed(
        self, states: Float[Tensor, "hypotheses steps width"], texts: Int[Tensor, "hypotheses seen"], at: Candidates
    ) -> Pointed:
        assert self.pointer is not None
        return self.pointer(states, run_lengths(texts, at.words)[:, -states.shape[1] :], at)
