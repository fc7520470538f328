"""Beam search: the most probable texts of a decoder, for all documents of a batch at once. One beam is greedy decoding.

The rules are fairseq's. The score of a text is its log-probability, end token included, divided by (its number of
tokens)^(length penalty). A hypothesis is finished when it ends among the best `beams` candidates of its step. A
document is done when `beams` hypotheses are finished.
"""

import math
from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from layoutray.errors import InputError
from layoutray.nn.decoder import Decoder
from layoutray.tensors import Encoded


@dataclass(frozen=True, kw_only=True)
class BeamSearchSettings:
    """Settings of a beam search. Lengths are in tokens, without start and end token.

    Attributes:
        start_id: first input of the decoder; not part of the text.
        end_id: token that ends a text; not part of the text.
        min_length: minimum length; if it equals `max_length`, every text has exactly this length.
        beams: number of hypotheses per document.
        length_penalty: values above 0 favour longer texts.
        no_repeat: n-grams of this size occur at most once in a text; 0 allows repetition.
    """

    start_id: int
    end_id: int
    max_length: int
    min_length: int = 0
    beams: int = 1
    length_penalty: float = 1.0
    no_repeat: int = 0

    def __post_init__(self) -> None:
        if self.beams < 1:
            raise InputError(f"beams is {self.beams}; it must be at least 1")


@dataclass(frozen=True)
class GeneratedTexts:
    """Generated texts, best first for each document.

    Attributes:
        tokens: token ids without start and end token, padded on the right.
        scores: length-penalised log-probabilities; −∞ if a document has fewer texts than beams.
        log_probabilities: cumulative log-probability of a text up to and including each token, then with its end token;
            0 after that.
    """

    tokens: Int[Tensor, "batch beams max_length"]
    scores: Float[Tensor, "batch beams"]
    log_probabilities: Float[Tensor, "batch beams steps"]


@torch.no_grad()
def beam_search(decoder: Decoder, encoded: Encoded, settings: BeamSearchSettings) -> GeneratedTexts:
    """The best texts for encoded documents."""
    batch, beams = len(encoded.mask), settings.beams
    device = encoded.states.device
    tokens = torch.full((batch, beams, settings.max_length), decoder.pad_id, device=device)
    last = torch.full((batch, beams), settings.start_id, device=device)
    # All hypotheses start equal: only the first may have successors.
    scores = torch.zeros(batch, beams, device=device).masked_fill(torch.arange(beams, device=device) > 0, -math.inf)
    history = torch.zeros(batch, beams, settings.max_length + 1, device=device)
    finished = GeneratedTexts(tokens, torch.full_like(scores, -math.inf), history)
    cache = decoder.start(encoded)
    for length in range(settings.max_length + 1):
        logits, cache = decoder.step(last.flatten(), cache)
        next_scores = rearrange(
            _next_token_scores(logits, length, settings, decoder.pad_id),
            "(batch beams) vocabulary -> batch beams vocabulary",
            beams=beams,
        )
        if 0 < settings.no_repeat <= length:
            next_scores = _without_repeats(next_scores, tokens[:, :, :length], settings.no_repeat, decoder.pad_id)
        best, candidate = (scores[..., None] + next_scores).flatten(1).topk(2 * beams)
        parent, last = candidate // next_scores.shape[-1], candidate % next_scores.shape[-1]
        ends = last == settings.end_id
        final_scores = (best / (length + 1) ** settings.length_penalty).masked_fill(~ends, -math.inf)
        history = _select_rows(history, parent)
        history[:, :, length] = best
        ended = GeneratedTexts(_select_rows(tokens, parent[:, :beams]), final_scores[:, :beams], history[:, :beams])
        finished = _merge(finished, ended)
        if length == settings.max_length or finished.scores.isfinite().all():
            break
        # Each hypothesis has one candidate that ends: at least half of the candidates continue.
        continuing = ends.to(torch.uint8).argsort(dim=1, stable=True)[:, :beams]
        scores, parent, last = (values.gather(1, continuing) for values in (best, parent, last))
        tokens, history = _select_rows(tokens, parent), _select_rows(history, continuing)
        tokens[:, :, length] = last
        if beams > 1:  # with one beam, the cache rows stay in place
            cache = cache.select((parent + torch.arange(0, batch * beams, beams, device=device)[:, None]).flatten())
    return finished


def _next_token_scores(
    logits: Float[Tensor, "hypotheses vocabulary"], length: int, settings: BeamSearchSettings, pad_id: int
) -> Float[Tensor, "hypotheses vocabulary"]:
    """Log-probabilities of the next token after `length` tokens; −∞ for tokens that are not allowed.

    These are padding, the end token before the minimum length, and other tokens than it at the maximum length.
    """
    scores = logits.float().log_softmax(-1)
    tokens = torch.arange(scores.shape[-1], device=scores.device)
    if length == settings.max_length:
        forbidden = tokens != settings.end_id
    elif length < settings.min_length:
        forbidden = (tokens == pad_id) | (tokens == settings.end_id)
    else:
        forbidden = tokens == pad_id
    return scores.masked_fill(forbidden, -math.inf)


def _without_repeats(
    scores: Float[Tensor, "batch beams vocabulary"], tokens: Int[Tensor, "batch beams length"], size: int, pad_id: int
) -> Float[Tensor, "batch beams vocabulary"]:
    """`scores` with −∞ for tokens that would complete an n-gram of `size` tokens that already occurs in `tokens`."""
    prefixes = tokens.unfold(2, size - 1, 1)
    matches = (prefixes[:, :, :-1] == prefixes[:, :, -1:]).all(-1)
    # `pad_id` is forbidden anyway: it stands for "no token to forbid".
    return scores.scatter(2, tokens[:, :, size - 1 :].masked_fill(~matches, pad_id), -math.inf)


def _merge(finished: GeneratedTexts, ended: GeneratedTexts) -> GeneratedTexts:
    """The best texts of both; a document with as many finished texts as beams is done and accepts no more."""
    done = finished.scores.isfinite().all(1, keepdim=True)
    candidates = torch.cat([finished.scores, ended.scores.masked_fill(done, -math.inf)], 1)
    scores, rows = candidates.topk(finished.scores.shape[1])
    return GeneratedTexts(
        _select_rows(torch.cat([finished.tokens, ended.tokens], 1), rows),
        scores,
        _select_rows(torch.cat([finished.log_probabilities, ended.log_probabilities], 1), rows),
    )


def _select_rows(
    values: Shaped[Tensor, "batch rows length"], rows: Int[Tensor, "batch selected"]
) -> Shaped[Tensor, "batch selected length"]:
    return values.gather(1, rows[..., None].expand(-1, -1, values.shape[2]))
