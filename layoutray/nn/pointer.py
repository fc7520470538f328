"""Copying: a decoder's next token is a token of the document or one of the vocabulary.

"Get To The Point: Summarization with Pointer-Generator Networks" (ACL 2017, arXiv:1704.04368).

    symbol     name here                       meaning
    a_t(i)     attention                       probability that token i of the document is copied
    h*_t       context                         Σ aᵢ hᵢ
    1 − p_gen  σ(gate)                         probability of copying
    P(w)       mixed(...)                      p_gen · P_vocab(w) + (1 − p_gen) · Σ a_t(i) over i with token w (Eq. 9)

Departures from the paper:
- Tokens are pieces of words, so that every word can be generated: the vocabulary is not extended.
- Scores are scaled dot products; the paper adds projections. A key holds the token's state and its embedding.
- The state of a pooled token is the one that it was pooled into: every token of such a group can be copied.
- A token that continues a run is more probable at the start: if the last tokens of the text stand directly before a
  token of the document, its score has a bonus for each of them, up to four. The run's length also has a learned vector,
  with which the decoder decides whether to continue. CopyNet (arXiv:1603.06393) has one such token.
- The gate has a hidden layer and reads the context and the decoder's state. P_vocab reads the state alone. There is no
  coverage.
"""

import math
from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from layoutray.tensors import Encoded

LONGEST_RUN = 4
"""Tokens before a token of the document that are compared with the last tokens of the text."""
_BONUS = 2.0
"""Added to the score of a token for each token of its run."""
_COPIES = 1.0
"""Added to the gate: at the start, 73 % of the probability is copied."""
_NO_TOKEN = -1


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The tokens of documents that can be copied; one row per document.

    Attributes:
        words: see `Encoded.words`.
        places: index of the input token.
        tokens: its id; 0 where it is not visible.
        visible: True on tokens of words.
        states: the encoder's state that the token is part of.
        keys: what the pointer compares with its query.
    """

    words: Int[Tensor, "batch length"]
    places: Int[Tensor, "batch candidates"]
    tokens: Int[Tensor, "batch candidates"]
    visible: Bool[Tensor, "batch candidates"]
    states: Float[Tensor, "batch candidates width"]
    keys: Float[Tensor, "batch candidates width"]


@dataclass(frozen=True)
class Pointed:
    """What a decoder points at, after each token of its texts. The hypotheses of a document are consecutive rows.

    Attributes:
        attention: a_t; 0 on candidates that are not visible.
        tokens: id of each candidate.
        places: index of the input token of each candidate.
        gate: logit of the probability of copying; very low in a document without candidates.
    """

    attention: Float[Tensor, "hypotheses steps candidates"]
    tokens: Int[Tensor, "hypotheses #steps candidates"]
    places: Int[Tensor, "hypotheses #steps candidates"]
    gate: Float[Tensor, "hypotheses steps 1"]

    def mixed(
        self, logits: Float[Tensor, "hypotheses steps vocabulary"]
    ) -> Float[Tensor, "hypotheses steps vocabulary"]:
        """log P(w), in float32 or more. A token that is not in the document has a share of copies of about 1e-38."""
        generated = _precise(logits).log_softmax(-1)
        copied = torch.zeros_like(generated).scatter_add(-1, self._ids, self.attention)
        return torch.logaddexp(
            functional.logsigmoid(-self.gate) + generated, functional.logsigmoid(self.gate) + _log(copied)
        )

    def log_probabilities(
        self, logits: Float[Tensor, "hypotheses steps vocabulary"], words: Int[Tensor, "hypotheses steps"]
    ) -> Float[Tensor, "hypotheses steps"]:
        """log P(w) of one token per step, as in `mixed`, whose other tokens are not computed."""
        generated, copied, _ = self._shares(logits, words)
        return torch.logaddexp(generated, copied)

    def sources(
        self, logits: Float[Tensor, "hypotheses steps vocabulary"], words: Int[Tensor, "hypotheses steps"]
    ) -> Int[Tensor, "hypotheses steps"]:
        """The input token that each of `words` most probably copies; -1 where it is rather generated."""
        generated, copied, each = self._shares(logits, words)
        best = self.places.expand_as(each).gather(-1, each.argmax(-1, keepdim=True)).squeeze(-1)
        return best.masked_fill(generated >= copied, _NO_TOKEN)

    def only(self, wanted: Bool[Tensor, "hypotheses steps"]) -> "Pointed":
        """The `wanted` steps, as those of one hypothesis."""
        size = self.attention.shape
        tokens, places = (part.expand(size)[wanted][None] for part in (self.tokens, self.places))
        return Pointed(self.attention[wanted][None], tokens, places, self.gate[wanted][None])

    @property
    def _ids(self) -> Int[Tensor, "hypotheses steps candidates"]:
        return self.tokens.expand_as(self.attention)

    def _shares(
        self, logits: Float[Tensor, "hypotheses steps vocabulary"], words: Int[Tensor, "hypotheses steps"]
    ) -> tuple[
        Float[Tensor, "hypotheses steps"],
        Float[Tensor, "hypotheses steps"],
        Float[Tensor, "hypotheses steps candidates"],
    ]:
        """The logarithms of both terms of P(w), and the attention to each candidate whose token is w."""
        generated = of_vocabulary(logits, words)
        each = self.attention * (self.tokens == words[..., None])
        gate = self.gate.squeeze(-1)
        return functional.logsigmoid(-gate) + generated, functional.logsigmoid(gate) + _log(each.sum(-1)), each


class Pointer(nn.Module):
    """Points at tokens of the document and decides whether to copy them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = 1 / math.sqrt(width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.run = nn.Embedding(LONGEST_RUN + 1, width)
        self.gate = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 1))

    def candidates(self, encoded: Encoded, word_embedding: nn.Embedding) -> Candidates:
        """The tokens that can be copied. A key is W h + √width · embedding."""
        assert encoded.words is not None, "copying needs the tokens of the document"
        words, origin = encoded.words, encoded.origin[..., None]
        groups = encoded.mixture.tokens if encoded.mixture else origin
        places, of_group = groups.flatten(1), groups.shape[-1]
        inside = places < words.shape[1]  # encoders may pad a document
        tokens = words.gather(1, places.clamp(max=words.shape[1] - 1))
        visible = inside & (tokens != _NO_TOKEN) & encoded.mask.repeat_interleave(of_group, 1)
        tokens = tokens.masked_fill(~visible, 0)
        keys = self.key(encoded.states).repeat_interleave(of_group, 1) + word_embedding(tokens) / self.scale
        return Candidates(
            words=words,
            places=places,
            tokens=tokens,
            visible=visible,
            states=encoded.states.repeat_interleave(of_group, 1),
            keys=keys,
        )

    def forward(
        self,
        states: Float[Tensor, "hypotheses steps width"],
        runs: Int[Tensor, "hypotheses steps length"],
        candidates: Candidates,
    ) -> Pointed:
        """What a decoder with `states` points at.

        Args:
            runs: see `run_lengths`; candidates have one row per document.
        """
        beams = len(states) // len(candidates.tokens)
        tokens, places, visible = (
            part.repeat_interleave(beams, 0)[:, None]
            for part in (candidates.tokens, candidates.places, candidates.visible)
        )
        length = candidates.words.shape[1]
        runs = runs.gather(-1, places.clamp(max=length - 1).expand(-1, states.shape[1], -1))
        query = self.query(states)
        scores = _of_documents(query, candidates.keys.transpose(1, 2)) * self.scale
        scores = scores + (query @ self.run.weight.T * self.scale).gather(-1, runs)
        scores = (_precise(scores) + _BONUS * runs).masked_fill(~visible, -math.inf)
        readable = visible.any(-1, keepdim=True)
        attention = scores.masked_fill(~readable, 0.0).softmax(-1) * visible
        context = _of_documents(attention.to(states.dtype), candidates.states)
        gate = _precise(self.gate(torch.cat([states, context], -1))) + _COPIES
        return Pointed(attention, tokens, places, gate.masked_fill(~readable, torch.finfo(gate.dtype).min))


def of_vocabulary(
    logits: Float[Tensor, "hypotheses steps vocabulary"], words: Int[Tensor, "hypotheses steps"]
) -> Float[Tensor, "hypotheses steps"]:
    """log P_vocab of one token per step, in float32 or more."""
    logits = _precise(logits)
    return logits.gather(-1, words[..., None]).squeeze(-1) - logits.logsumexp(-1)


def run_lengths(
    text: Int[Tensor, "hypotheses steps"], words: Int[Tensor, "batch length"]
) -> Int[Tensor, "hypotheses steps length"]:
    """How many of the last tokens of a text, up to `LONGEST_RUN`, stand directly before each token of its document.

    Args:
        text: the tokens so far; step t ends with token t.
        words: see `Encoded.words`; -1 equals no token.
    """
    before = functional.pad(words[:, :-1], (1, 0), value=_NO_TOKEN).repeat_interleave(len(text) // len(words), 0)
    equal = text[:, :, None] == before[:, None]
    unbroken, runs = equal, equal.long()
    for back in range(1, min(LONGEST_RUN, *equal.shape[1:])):
        unbroken = unbroken & functional.pad(equal[:, :-back, :-back], (back, 0, back, 0))
        runs = runs + unbroken
    return runs


def _of_documents(
    rows: Float[Tensor, "hypotheses steps inner"], documents: Float[Tensor, "batch inner outer"]
) -> Float[Tensor, "hypotheses steps outer"]:
    """The product of each hypothesis and its document."""
    together = rearrange(rows, "(batch beams) steps inner -> batch (beams steps) inner", batch=len(documents))
    return rearrange(
        together @ documents, "batch (beams steps) outer -> (batch beams) steps outer", steps=rows.shape[1]
    )


def _precise(values: Tensor) -> Tensor:
    return values.to(torch.promote_types(values.dtype, torch.float32))


def _log(probabilities: Tensor) -> Tensor:
    """The logarithm, finite for 0, where its gradient is 0."""
    return probabilities.clamp_min(torch.finfo(torch.float32).tiny).log()
