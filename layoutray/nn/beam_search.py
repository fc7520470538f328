"""Beam search: the likeliest texts that a decoder can write, for all documents of a batch at once. With one beam it is greedy.

The rules are fairseq's: a text's score is its log-probability, end word included, over its number of words to the power of the length
penalty; a beam that ends among the best `beams` of its step is finished, and a document is done when so many have finished.
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


@dataclass(frozen=True)
class Search:
    """What to look for.

    Attributes:
        start_id: the word that every text begins with; not part of it.
        end_id: the word that ends it; not part of it.
        max_length: words at most.
        min_length: words at least; 512 of each gives exactly 512.
        beams: hypotheses per document.
        length_penalty: above 0 favours longer texts.
        no_repeat: no so many words in a row are written twice; 0 allows it.
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
        if self.no_repeat < 0:
            raise InputError(f"no_repeat is {self.no_repeat}; it must be at least 0")
        if not 0 <= self.min_length <= self.max_length:
            raise InputError(
                f"min_length is {self.min_length}; it must be at least 0 and at most max_length, which is {self.max_length}"
            )


@dataclass(frozen=True)
class Written:
    """Texts, the best of each document first.

    Attributes:
        words: without start and end, filled up with padding.
        scores: log-probabilities under the length penalty; −∞ where a document has fewer texts than there are beams.
        sums: log-probability of a text up to each of its words, that word included, and then of the text with its end; 0 behind that.
    """

    words: Int[Tensor, "batch beams max_length"]
    scores: Float[Tensor, "batch beams"]
    sums: Float[Tensor, "batch beams steps"]


@torch.no_grad()
def beam_search(decoder: Decoder, encoded: Encoded, search: Search) -> Written:
    """The best texts for documents that an encoder has read."""
    batch, beams = len(encoded.mask), search.beams
    device = encoded.states.device
    words = torch.full((batch, beams, search.max_length), decoder.pad_id, device=device)
    last = torch.full((batch, beams), search.start_id, device=device)
    # All hypotheses begin alike, so that only the first may have successors.
    scores = torch.zeros(batch, beams, device=device).masked_fill(torch.arange(beams, device=device) > 0, -math.inf)
    sums = torch.zeros(batch, beams, search.max_length + 1, device=device)
    finished = Written(words, torch.full_like(scores, -math.inf), sums)
    cache = decoder.start(encoded)
    for length in range(search.max_length + 1):
        logits, cache = decoder.step(last.flatten(), cache)
        chances = rearrange(
            _allowed(logits, length, search, decoder.pad_id), "(batch beams) words -> batch beams words", beams=beams
        )
        if 0 < search.no_repeat <= length:
            chances = _unrepeated(chances, words[:, :, :length], search.no_repeat, decoder.pad_id)
        best, place = (scores[..., None] + chances).flatten(1).topk(2 * beams)
        parent, last = place // chances.shape[-1], place % chances.shape[-1]
        ends = last == search.end_id
        over = (best / (length + 1) ** search.length_penalty).masked_fill(~ends, -math.inf)
        sums = _rows(sums, parent)
        sums[:, :, length] = best
        finished = _with(finished, Written(_rows(words, parent[:, :beams]), over[:, :beams], sums[:, :beams]))
        if length == search.max_length or finished.scores.isfinite().all():
            break
        # Each hypothesis ends in one way only, so at least half of the candidates go on.
        onward = ends.to(torch.uint8).argsort(dim=1, stable=True)[:, :beams]
        scores, parent, last = (part.gather(1, onward) for part in (best, parent, last))
        words, sums = _rows(words, parent), _rows(sums, onward)
        words[:, :, length] = last
        if beams > 1:  # a single hypothesis always follows itself, and its cache need not be copied
            cache = cache.of((parent + torch.arange(0, batch * beams, beams, device=device)[:, None]).flatten())
    return finished


def _allowed(
    logits: Float[Tensor, "hypotheses words"], length: int, search: Search, pad_id: int
) -> Float[Tensor, "hypotheses words"]:
    """Log-probabilities of the next word after `length` of them; −∞ for words that may not come."""
    chances = logits.float().log_softmax(-1)
    words = torch.arange(chances.shape[-1], device=chances.device)
    forbidden = words == pad_id
    if length < search.min_length:
        forbidden = forbidden | (words == search.end_id)
    if length == search.max_length:
        forbidden = words != search.end_id
    return chances.masked_fill(forbidden, -math.inf)


def _unrepeated(
    chances: Float[Tensor, "batch beams words"], said: Int[Tensor, "batch beams length"], size: int, pad_id: int
) -> Float[Tensor, "batch beams words"]:
    """−∞ for words that would end a run of `size` words that has been said; `pad_id` is forbidden anyhow."""
    before = said.unfold(2, size - 1, 1)
    same = (before[:, :, :-1] == before[:, :, -1:]).all(-1)
    return chances.scatter(2, said[:, :, size - 1 :].masked_fill(~same, pad_id), -math.inf)


def _with(finished: Written, ended: Written) -> Written:
    """The best of both; a document that has as many texts as beams is done and takes no more."""
    done = finished.scores.isfinite().all(1, keepdim=True)
    scores, place = torch.cat([finished.scores, ended.scores.masked_fill(done, -math.inf)], 1).topk(
        finished.scores.shape[1]
    )
    words, sums = (
        _rows(torch.cat(pair, 1), place) for pair in ((finished.words, ended.words), (finished.sums, ended.sums))
    )
    return Written(words, scores, sums)


def _rows(
    values: Shaped[Tensor, "batch rows length"], chosen: Int[Tensor, "batch chosen"]
) -> Shaped[Tensor, "batch chosen length"]:
    return values.gather(1, chosen[..., None].expand(-1, -1, values.shape[2]))
