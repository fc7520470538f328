"""Split a packet: the best sequence of documents by the labels of its pages and by what adjacent pages have in common.

A document of pages a to b and kind k has the score

    log p(k | a, B) - softplus(e_a) + sum over its further pages t of log p(k | t, I) - softplus(-e_t),

where p(k | t, B) is the probability of kind k on a page that begins a document, and e_t the log-odds that page t goes
on with the document before it: a weighted sum of `document.page_pairs` and of log p(I | t) / p(B | t). The best packet
is found by dynamic programming. Confidences are exact: shares of the weight of all packets that are possible. Blank
pages and separator sheets are told by their words alone, and are in no sequence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from layoutray.document import Page
from layoutray.document.packets import is_separator
from layoutray.document.page_pairs import evidence

_WEIGHTS = {"follows": 3.5, "begins": -0.6, "ended": -2.3, "running": 4.5, "height": -7.9, "similar": 1.7}
_LABEL_WEIGHT, _BIAS = 0.8, 5.2
"""Fitted by logistic regression to packets of 60 documents of each kind of docs/results/packets.md, each labelled by
models of 10 or 40 of the others, and rounded."""
_MISPLACED, _LEAST = 3e-3, 1e-5
"""Least share of labels with the right kind and the wrong position, and least probability of a label."""
_NEVER = -1e4
"""Log-odds that a page after a separator sheet goes on with the document before the sheet."""

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketDocument:
    """A document that was found in a packet.

    Attributes:
        kind: of document.
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
    """What is in a packet.

    Attributes:
        others: why a page is in no document, by its number.
    """

    documents: tuple[PacketDocument, ...]
    others: Mapping[int, Literal["blank", "separator"]]


def split(pages: Sequence[Page], labels: Mapping[int, Mapping[str, float]]) -> SplitPacket:
    """The documents of a packet.

    Args:
        pages: those that were read, in order.
        labels: probabilities of the labels (`B-invoice`, `I-invoice`, …) of each page with words, by its number.
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
    begin, further = (
        np.array([[labels[page.number][f"{prefix}-{kind}"] for kind in kinds] for page in written]) for prefix in "BI"
    )
    positions = [np.log(of_kinds.sum(1) + _MISPLACED) for of_kinds in (begin, further)]
    goes_on = _LABEL_WEIGHT * (positions[1] - positions[0]) + _BIAS
    goes_on[1:] += [sum(_WEIGHTS[name] * value for name, value in one.items()) for one in evidence(written)]
    goes_on[sorted({0, *after_separator} - {len(written)})] = _NEVER
    begin, further = (one + _MISPLACED * other + _LEAST for one, other in ((begin, further), (further, begin)))
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
