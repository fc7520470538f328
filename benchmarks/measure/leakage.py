"""Which held-out documents are known from training: copies of documents there, and others that are filled into the same template.

Receipts of one shop and forms of one authority come again and again. A model that knows a template by heart says little of new ones.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from layoutray.store import shards, sources
from layoutray.store.schema import PAGES

HEADER = 5
"""So many first words that two documents have in common make one template."""
SHINGLE = 3
"""Similarity is of runs of so many words."""
ALIKE = 0.5
"""From this similarity on (Jaccard) two documents have one template."""

Texts = Mapping[str, Sequence[str]]
"""The words of documents by their ids."""
_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """Ids of held-out documents.

    Attributes:
        copies: with the bytes of a training document, or its text but for blanks, punctuation and case.
        templates: with the first 5 words of a training document, or at least half of the runs of 3 words that either has in common, where
            digits, punctuation and case make no difference; copies are among them.
    """

    copies: frozenset[str]
    templates: frozenset[str]


def known(held_out: Texts, learnt: Texts) -> Known:
    """What of `held_out` is known from `learnt`. Documents without words are known by their bytes alone."""
    letters = [_letters(words) for words in learnt.values()]
    texts = {_text(words) for words in learnt.values()} - {""}
    headers = {words[:HEADER] for words in letters} - {()}
    index = _Index(letters)
    copies = frozenset(doc_id for doc_id, words in held_out.items() if doc_id in learnt or _text(words) in texts)
    plain = {doc_id: _letters(words) for doc_id, words in held_out.items()}
    alike = {doc_id for doc_id, words in plain.items() if words[:HEADER] in headers or index.similarity(words) >= ALIKE}
    return Known(copies, copies | alike)


def texts_of(folder: str, splits: Collection[str]) -> dict[str, list[str]]:
    """Words of the documents of `splits` that `ingest` or `mix` has written to `folder`, page after page."""
    found: dict[str, dict[int, list[str]]] = defaultdict(dict)
    chosen = pc.field("split").isin(list(splits))
    for table in shards.scan(sources.join(folder, "pages"), PAGES, ["doc_id", "page", "words"], chosen):
        for row in table.to_pylist():
            found[row["doc_id"]][row["page"]] = row["words"]
    return {doc_id: [word for number in sorted(pages) for word in pages[number]] for doc_id, pages in found.items()}


class _Index:
    """Documents by their shingles, so that only those that share any are compared."""

    def __init__(self, documents: Sequence[_Words]) -> None:
        self._having: dict[_Words, list[int]] = defaultdict(list)
        self._sizes: list[int] = []
        for number, words in enumerate(documents):
            own = _shingles(words)
            self._sizes.append(len(own))
            for shingle in own:
                self._having[shingle].append(number)

    def similarity(self, words: _Words) -> float:
        """To the likest of the documents: shared shingles over all that either has; 0 where none shares any."""
        own = _shingles(words)
        shared = Counter(number for shingle in own for number in self._having.get(shingle, ()))
        return max((count / (len(own) + self._sizes[number] - count) for number, count in shared.items()), default=0.0)


def _text(words: Sequence[str]) -> str:
    """Letters and digits alone; engines and annotators part words differently."""
    return re.sub(r"[\W_]", "", "".join(words).casefold())


def _letters(words: Sequence[str]) -> _Words:
    """The words without what changes from one copy of a template to the next: numbers, dates, amounts."""
    return tuple(plain for word in words if (plain := re.sub(r"[\W\d_]", "", word.casefold())))


def _shingles(words: _Words) -> set[_Words]:
    return {words[at : at + SHINGLE] for at in range(len(words) - SHINGLE + 1)}
