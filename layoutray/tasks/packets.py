"""Split a packet: the best sequence of documents by the labels of its pages and by what adjacent pages have in common.

A document of pages a to b and kind k has the score

    log p(k | a, B) - softplus(e_a) + sum over its further pages t of log p(k | t, I) - softplus(-e_t),

where p(k | t, B) is the probability of kind k on a page that begins a document, and e_t the log-odds that page t goes
on with the document before it: a weighted sum of `evidence`, of log p(I | t) / p(B | t), and of the log-odds
that page t - 1 ends its document. The best packet is found by dynamic programming. Confidences are exact: shares of the
weight of all packets that are possible. Blank pages and separator sheets are told by their words alone, and are in no
sequence.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from layoutray.document.packets import is_separator
from layoutray.document.page import Page, Word

_NUMBERED = re.compile(
    r"\b(?:page|seite|blatt|pagina|página|p\.|pg\.?)\s*:?\s*(\d{1,3})(?:\s*(?:of|von|de|/)\s*(\d{1,3}))?\b", re.I
)
_BARE = re.compile(r"[-–—(\[~\s]*(\d{1,3})(?:\s*(?:of|von|de|/)\s*(\d{1,3}))?[-–—)\]~.\s]*")
_EDGE_LINES = 2
_SHORT = 4
"""Letters of the shortest words that are compared."""
_WEIGHTS = {"follows": 4.9, "begins": -0.6, "ended": -3.2, "running": 7.0, "height": -12.7, "similar": 2.6}
_LABEL_WEIGHT, _END_WEIGHT, _BIAS = 1.1, -0.5, 7.9
"""Fitted by logistic regression to packets of 60 documents of each kind of docs/results/packets.md, each labelled by
models of 10 or 40 of the others, and rounded."""
_MISPLACED, _LEAST = 3e-3, 1e-5
"""Share of labels with the right kind and the wrong position, and least probability of a label."""
_NEVER_SEEN = 1e-20
"""Largest probability of further pages of a kind whose training documents have one page. They are not misplaced."""
_MOST_WORDS_OF_A_PART, _WITH_NEIGHBOUR = 12, 5.0
"""A page of so few words is seldom a document: log-odds that it is of one with the page before or after it, whichever
is likelier."""
_NEVER = -1e4
"""Log-odds that a page after a separator sheet goes on with the document before the sheet."""

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketDocument:
    """A document that was found in a packet.

    Attributes:
        pages: numbers of its pages in the packet, in order, without blank ones.
        confidence: 0..1, that exactly these pages are a document of this kind.
        begin_confidence: 0..1, that a document begins at its first page.
    """

    kind: str
    pages: tuple[int, ...]
    confidence: float
    begin_confidence: float


@dataclass(frozen=True, slots=True)
class SplitPacket:
    """What is in a packet: its documents, and by their numbers why `others` of its pages are in none."""

    documents: tuple[PacketDocument, ...]
    others: Mapping[int, Literal["blank", "separator"]]


def split(pages: Sequence[Page], labels: Mapping[int, Mapping[str, float]]) -> SplitPacket:
    """The documents of a packet.

    Args:
        pages: those that were read, in order.
        labels: probabilities of the labels (`B-invoice`, `I-invoice`, `E-invoice`, `S-invoice`, …) of each page with
            words, by its number.
    """
    others: dict[int, Literal["blank", "separator"]] = {}
    written: list[Page] = []
    after_separator: set[int] = set()
    for page in pages:
        if page.number not in labels:
            others[page.number] = "blank"
        elif is_separator(page):
            others[page.number] = "separator"
            after_separator.add(len(written))
        else:
            written.append(page)
    if not written:
        return SplitPacket((), others)
    kinds = sorted({label[2:] for label in labels[written[0].number]})
    first, inner, last, only = (
        np.array([[labels[page.number][f"{prefix}-{kind}"] for kind in kinds] for page in written]) for prefix in "BIES"
    )
    begin, further, ends = first + only, inner + last, (last + only).sum(1)
    seen = further.max(0) > _NEVER_SEEN
    begin, further = begin + _MISPLACED * further + _LEAST, further + _MISPLACED * begin * seen + _LEAST
    goes_on = _LABEL_WEIGHT * np.log(further.sum(1) / begin.sum(1)) + _BIAS
    goes_on[1:] += _END_WEIGHT * np.log((ends + _MISPLACED) / (1 - ends + _MISPLACED))[:-1]
    goes_on[1:] += [sum(_WEIGHTS[name] * value for name, value in one.items()) for one in evidence(written)]
    goes_on[sorted({0, *after_separator} - {len(written)})] = _NEVER
    for place, page in enumerate(written):
        if len(page.words) <= _MOST_WORDS_OF_A_PART:
            following = place + 1 < len(written) and goes_on[place + 1] > goes_on[place]
            goes_on[place + following] += _WITH_NEIGHBOUR
    begin, further = (np.log(one / one.sum(1, keepdims=True)) for one in (begin, further))
    begin -= np.logaddexp(0, goes_on)[:, None]
    further -= np.logaddexp(0, -goes_on)[:, None]
    documents = (
        PacketDocument(
            kind=kinds[kind],
            pages=tuple(page.number for page in written[first:end]),
            confidence=confidence,
            begin_confidence=begins,
        )
        for first, end, kind, confidence, begins in best_documents(begin, further)
    )
    return SplitPacket(tuple(documents), others)


def _best(begin: Scores, further: Scores) -> list[tuple[int, int, int]]:
    """First page, end and kind of each document of the best packet."""
    best, previous, starts = np.full(begin.shape[1], -np.inf), 0.0, np.zeros(begin.shape, np.intp)
    finished: list[int] = []
    for page, (begins, goes_on) in enumerate(zip(begin, further, strict=True)):
        stays = best + goes_on
        new = begins + previous
        starts[page] = np.where(stays > new, starts[page - 1], page)
        best = np.maximum(stays, new)
        previous = float(best.max())
        finished.append(int(best.argmax()))
    documents: list[tuple[int, int, int]] = []
    end = len(begin)
    while end:
        kind = finished[end - 1]
        documents.append((int(starts[end - 1, kind]), end, kind))
        end = documents[-1][0]
    return documents[::-1]


def best_documents(begin: Scores, further: Scores) -> list[tuple[int, int, int, float, float]]:
    """The documents of the best packet, each with its confidence and that of its beginning.

    `before[t]` and `after[t]` are the log-weights of all packets of the pages before t, and from t on.
    """
    length, kinds = begin.shape
    before, opened = np.zeros(length + 1), np.full(kinds, -np.inf)
    for page in range(length):
        opened = np.logaddexp(before[page] + begin[page], opened + further[page])
        before[page + 1] = logsumexp(opened)
    after, rest = np.zeros(length + 1), np.zeros(kinds)
    for page in reversed(range(length)):
        after[page] = logsumexp(begin[page] + rest)
        rest = np.logaddexp(after[page], further[page] + rest)
    documents: list[tuple[int, int, int, float, float]] = []
    for first, end, kind in _best(begin, further):
        score = begin[first, kind] + further[first + 1 : end, kind].sum()
        confidence = np.exp(before[first] + score + after[end] - before[-1])
        begins = np.exp(before[first] + after[first] - before[-1])
        documents.append((first, end, kind, min(float(confidence), 1.0), min(float(begins), 1.0)))
    return documents


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What is compared of a page.

    Attributes:
        number, count: as printed: page `number` of `count`; 0 for what is not printed.
        running: words of the lines at the top and at the bottom.
        words: all of at least four letters.
        height: median of all words, as a share of the page's width.
    """

    number: int
    count: int
    running: frozenset[str]
    words: frozenset[str]
    height: float


def evidence(pages: Sequence[Page]) -> list[dict[str, float]]:
    """What says of each page but the first that it goes on with the document of the page before it."""
    looks = [_look(page) for page in pages]
    having = Counter(word for look in looks for word in look.words)
    rarity = {word: math.log((1 + len(looks)) / count) for word, count in having.items()}
    found: list[dict[str, float]] = []
    for before, page in pairwise(looks):
        common, own, other = (
            sum(rarity[word] for word in words) for words in (before.words & page.words, page.words, before.words)
        )
        found.append(
            {
                "follows": float(page.number > 1 and page.number == (before.number or 1) + 1),
                "begins": float(page.number == 1),
                "ended": float(before.count > 0 and before.number == before.count),
                "running": len(before.running & page.running) / max(len(page.running), 1),
                "height": min(abs(math.log(page.height / before.height)), 1.0),
                "similar": math.log(common / math.sqrt((own + 1) * (other + 1)) + 0.01),
            }
        )
    return found


def _look(page: Page) -> _Look:
    lines: dict[int, list[Word]] = defaultdict(list)
    for word in page.words:
        lines[word.line].append(word)
    from_top = sorted(lines.values(), key=lambda line: min(word.box.y0 for word in line))
    texts = [" ".join(word.text for word in line) for line in from_top]
    edges = [*texts[:_EDGE_LINES], *texts[-_EDGE_LINES:]]
    found = [match for line in edges if (match := _NUMBERED.search(line) or _BARE.fullmatch(line))]
    number, count = found[-1].groups() if found else (0, 0)
    return _Look(
        number=int(number),
        count=int(count or 0),
        running=frozenset(_compared_words(" ".join(edges))),
        words=frozenset(_compared_words(" ".join(texts))),
        height=(median(word.box.y1 - word.box.y0 for word in page.words) * page.height + 1) / page.width,
    )


def _compared_words(text: str) -> set[str]:
    return {word for part in text.casefold().split() if len(word := part.strip(".,:;()\"'")) >= _SHORT}
