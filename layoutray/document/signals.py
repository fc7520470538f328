"""What answered documents look like, in numbers that need no labels, and what those of a reference look like.

| signal | number |
| --- | --- |
| `words` | words of a page |
| `word height` | median height of words, as share of the page |
| `word length` | characters of a word |
| `page pixels`, `page shape` | area of the picture; its width, as share of its height |
| `reading confidence` | of the OCR engine, mean of the words; none if it states none |
| `unseen words` | share of the words that no other document of the reference has, digits apart |
| `repeated unseen words` | in how many of the last documents such a word is, as mean of all words |
| `unseen word source` | 1 if the words of no other document of the reference were made in the same way, else 0 |
| `unseen template` | 1 if no other document of the reference begins with the same words, else 0 |
| `value of NAME` | the highest confidence of the field's values; 0 without any, so that the field's rate is in it |

Of several pages it is the mean. Words of a new vendor are unseen and come again; those of a single unusual document do
not. For a document of the reference, others of it that are drawn at random stand for the last ones. Numbers have five
digits: in files they are less exact than in memory, and equal ones have to stay equal. A reference has no text, but
32-bit checksums of its words and templates, which a list of words can be compared with.
"""

import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean, median
from typing import Any, Self

from layoutray.document.page import Page
from layoutray.document.word_source import word_sources

TEMPLATE_WORDS = 5
"""Two documents with the same first words have the same template."""
_REPEATED = "repeated unseen words"
UPWARD = ("unseen words", _REPEATED, "unseen word source", "unseen template")
"""Signals of which only high values show that documents have changed."""
_MOST_RECENT = 50
_VALUE = "value of "
_CHECKSUMS = ("words", "templates", "sources")
_NO_LETTER = re.compile(r"[\W\d_]")


def plain_words(words: Iterable[str]) -> tuple[str, ...]:
    """Letters of the words. Numbers, dates and amounts differ between documents of the same template."""
    return tuple(plain for word in words if (plain := _NO_LETTER.sub("", word.casefold())))


@dataclass(frozen=True, slots=True)
class Observed:
    """What a document shows by itself.

    Attributes:
        numbers: the signals that need no reference.
        words: a checksum of each word, in order.
        template: that of its first words.
        source: that of how its words were made.
    """

    numbers: Mapping[str, float]
    words: tuple[int, ...]
    template: int
    source: int

    @classmethod
    def of(cls, pages: Sequence[Page], values: Iterable[tuple[str, float]]) -> Self:
        """What a document shows: its pages in order, at least one, and name and confidence of each answered value."""
        words = [word for page in pages for word in page.words]
        numbers = {
            "words": len(words) / len(pages),
            "page pixels": fmean(page.width * page.height for page in pages),
            "page shape": fmean(page.width / page.height for page in pages),
        }
        if words:
            numbers["word height"] = median(word.box.y1 - word.box.y0 for word in words)
            numbers["word length"] = fmean(len(word.text) for word in words)
        if stated := [word.confidence for word in words if word.confidence is not None]:
            numbers["reading confidence"] = fmean(stated)
        for name, confidence in values:
            numbers[_VALUE + name] = max(confidence, numbers.get(_VALUE + name, 0.0))
        plain = plain_words(word.text for word in words)
        template = zlib.crc32(" ".join(plain[:TEMPLATE_WORDS]).encode())
        numbers = {name: _rounded(value) for name, value in numbers.items()}
        source = zlib.crc32(" ".join(f"{one.name} {one.settings}" for one in word_sources(pages)).encode())
        return cls(numbers, tuple(zlib.crc32(word.encode()) for word in plain), template, source)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """What `dataclasses.asdict` gave."""
        return replace(cls(**plain), words=tuple(plain["words"]))


@dataclass(frozen=True, slots=True)
class Reference:
    """Documents that are as they should be.

    Attributes:
        samples: the values of each signal. Each document's words and template are compared with the other documents.
        words, templates, sources: checksums that at least one of them has.
    """

    samples: Mapping[str, Sequence[float]]
    words: frozenset[int]
    templates: frozenset[int]
    sources: frozenset[int]

    @classmethod
    def of(cls, documents: Sequence[Observed]) -> Self:
        words = Counter(word for one in documents for word in set(one.words))
        counts = words, Counter(one.template for one in documents), Counter(one.source for one in documents)
        names = dict.fromkeys((*(name for one in documents for name in one.numbers), *UPWARD), ())
        # What a document shares with another one occurs in two.
        others = cls(names, *(frozenset(key for key, number in one.items() if number > 1) for one in counts))
        signals = [others.signals(one) for one in documents]
        samples = {name: [one[name] for one in signals if name in one] for name in names}
        return cls(samples | {_REPEATED: [*_repeated(documents, words)]}, *map(frozenset, counts))

    @property
    def recent(self) -> int:
        """How many of the last documents of a sequence count as recent."""
        return _recent(len(self.samples["words"]))

    def unseen(self, document: Observed) -> frozenset[int]:
        """The words that no document of the reference has."""
        return frozenset(document.words) - self.words

    def signals(self, document: Observed, recent: Collection[frozenset[int]] = ()) -> dict[str, float]:
        """The signals of a document; a field of the reference without a value has 0.

        Args:
            recent: `unseen` of the `recent` documents before it, or as many as there are.
        """
        unanswered = {name: 0.0 for name in self.samples if name.startswith(_VALUE)}
        unseen = {
            "unseen word source": float(document.source not in self.sources),
            "unseen template": float(document.template not in self.templates),
        }
        if document.words:
            unseen["unseen words"] = fmean(word not in self.words for word in document.words)
            unseen[_REPEATED] = _rounded(fmean(sum(word in one for one in recent) for word in document.words))
        return {**unanswered, **document.numbers, **unseen}

    def to_json(self) -> dict[str, Any]:
        checksums = {name: sorted(getattr(self, name)) for name in _CHECKSUMS}
        return {"samples": dict(self.samples), **checksums}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        return cls(plain["samples"], *(frozenset(plain[name]) for name in _CHECKSUMS))


def _repeated(documents: Sequence[Observed], words: Mapping[int, int]) -> Iterator[float]:
    """`repeated unseen words` of each document of a reference, of which `words[word]` documents have a word."""
    drawn, count = Random(0).sample(documents, len(documents)), _recent(len(documents))
    sets = [set(one.words) for one in drawn]
    recent = Counter(word for one in sets[-count:] for word in one)
    for place, document in enumerate(drawn):
        if document.words:
            # A word is unseen if only this document and recent ones have it.
            yield _rounded(fmean(recent[one] * (words[one] == recent[one] + 1) for one in document.words))
        recent.update(sets[place])
        recent.subtract(sets[place - count])


def _recent(reference: int) -> int:
    """How many documents count as recent, for a reference of so many."""
    return max(1, min(_MOST_RECENT, reference // 5))


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")
